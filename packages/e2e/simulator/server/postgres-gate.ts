import { execute } from '../../../server/test/start-postgres.ts';

/** Tables into which one statement inserts rows that other transactions insert too, and what tells these rows apart. */
const GATED = { idempotency_records: 'key', link_clicks: 'code' } as const;

/** A statement that may be stopped between two of its rows. */
export const GATED_STATEMENT = new RegExp(`INSERT INTO (?:${Object.keys(GATED).join('|')})\\b`);

/** Rows are of one of so many kinds. A statement is stopped before its first row of one kind. */
const KINDS = 2;

/**
 * Lets each row of the gated tables wait for a lock before it is inserted, by its session and its kind. Nobody has that lock, unless the
 * simulation stops the statement there.
 */
export async function makeGates(url: string): Promise<void> {
  await execute(
    url,
    `CREATE FUNCTION simulated_gate() RETURNS trigger LANGUAGE plpgsql AS $$
     DECLARE
       kind int := abs(hashtext(to_jsonb(NEW)->>TG_ARGV[0]) % ${KINDS});
     BEGIN
       PERFORM pg_advisory_lock_shared(pg_backend_pid(), kind);
       PERFORM pg_advisory_unlock_shared(pg_backend_pid(), kind);
       RETURN NEW;
     END
     $$`,
  );
  for (const [table, column] of Object.entries(GATED)) {
    await execute(
      url,
      `CREATE TRIGGER simulated_gate BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION simulated_gate('${column}')`,
    );
  }
}

/** Stops the next gated statement of a session before its first row of a kind. */
export const closeGate = (pid: number, kind: 0 | 1) =>
  `SELECT pg_try_advisory_lock(${pid}, ${kind})`;

/** Lets it go on. */
export const openGate = (pid: number, kind: 0 | 1) => `SELECT pg_advisory_unlock(${pid}, ${kind})`;
