import pg from 'pg';
import { type Session, takeSession } from './postgres-wire.ts';

/** What the server imports as `pg`. */
export const { Client, DatabaseError, escapeLiteral, types } = pg;

/** The driver's pool. Connecting, each statement and each response are steps of the simulation. */
export class Pool extends pg.Pool {
  readonly #session: Session = takeSession();

  constructor(config: pg.PoolConfig) {
    super({ ...config, idleTimeoutMillis: 0 });
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: never): void;
  override connect(): Promise<pg.PoolClient> {
    // Another server may have taken over.
    Object.assign(this.options, { connectionString: this.#session.url });
    return this.#session.connect(() => super.connect());
  }

  override end(): Promise<void> {
    return this.#session.act(() => super.end());
  }
}
