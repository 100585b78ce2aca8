/** One step of a database's schema. */
export interface Migration {
  /** 1, 2, 3 and so on, without gaps. */
  version: number;
  name: string;
  sql: string;
}

/** Schema versions before and after; 0 is an empty database. Equal when there was nothing to do. */
export interface MigrationReport {
  from: number;
  to: number;
}
