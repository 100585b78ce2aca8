import { type Mutant, one } from './mutant.ts';

const CONNECTION = 'store/postgres/connection.ts';
const DATABASE = 'store/postgres/database.ts';
const ENGINE = 'store/postgres/engine.ts';
const CHANGES = 'store/postgres/migrations.ts';

/** Planted bugs of the store on PostgreSQL. */
export const postgresMutants: Record<string, Mutant> = {
  'commit-repeated': one(
    'A transaction whose COMMIT had no response is carried out once more although it is committed.',
    CONNECTION,
    'results.at(-1)?.rowCount === 1',
    'results.length > 0',
  ),
  'commit-under-another-number': one(
    'A transaction whose COMMIT had no response is repeated under a new number.',
    DATABASE,
    'before?.write ?? this.#nextWrite()',
    'this.#nextWrite()',
  ),
  'outcome-by-transaction-number': {
    bug: 'Whether a transaction is committed is asked by its transaction number, which a standby that takes over gives to another one.',
    patches: [
      {
        file: `server/src/${DATABASE}`,
        find: '      if (!(await channel.beginWrite(write)) && before !== undefined) {',
        replace: `      if (before !== undefined) {
        const ofXid = \`SELECT CASE WHEN '\${before.xid}'::xid8 < pg_snapshot_xmax(pg_current_snapshot())
          THEN pg_xact_status('\${before.xid}'::xid8) END AS status\`;
        const { rows } = await channel.client.query(ofXid);
        if (rows[0].status === 'committed') return before.value;
      }
      if (!(await channel.beginWrite(write)) && before !== undefined) {`,
      },
      {
        file: `server/src/${DATABASE}`,
        find: 'open = { write, value };',
        replace: `const { rows } = await channel.client.query('SELECT pg_current_xact_id()::text AS xid');
        open = { write, value, xid: rows[0].xid };`,
      },
    ],
  },
  'number-used-twice': one(
    'A writer gives each of its transactions the same number.',
    DATABASE,
    'number: number + 1, now',
    'number: 1, now',
  ),
  'total-not-locked': one(
    'Two instances read the total of an account before one of them has raised it.',
    CHANGES,
    'WHERE account_id = account FOR NO KEY UPDATE;',
    'WHERE account_id = account;',
  ),
  'keys-claimed-in-any-order': one(
    'Two instances claim idempotency keys in the order in which they came, and wait for each other.',
    'store/writes/idempotency.ts',
    '.toSorted((a, b) => (a.key < b.key ? -1 : 1));',
    ';',
  ),
  'job-not-locked': one(
    'Two instances run the same part of a job.',
    ENGINE,
    "sqlText('FOR UPDATE SKIP LOCKED')",
    "sqlText('')",
  ),
};
