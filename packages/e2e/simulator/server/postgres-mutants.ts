import { type Mutant, one } from './mutant.ts';

const NUMBERED = 'store/postgres/numbered-write.ts';
const DATABASE = 'store/postgres/database.ts';
const ENGINE = 'store/postgres/operations/engine.ts';
const CHANGES = 'store/postgres/migrations.ts';

/** Planted bugs of the store on PostgreSQL. */
export const postgresMutants: Record<string, Mutant> = {
  'commit-repeated': one(
    'A transaction whose COMMIT had no response is carried out once more although it is committed.',
    NUMBERED,
    " && 'rowCount' in recorded && recorded.rowCount === 1",
    '',
  ),
  'commit-under-another-number': one(
    'A transaction whose COMMIT had no response is repeated under a new number.',
    DATABASE,
    'open?.write ?? repeated ?? this.#writers.next()',
    'repeated ?? this.#writers.next()',
  ),
  'outcome-by-transaction-number': {
    bug: 'Whether a transaction is committed is asked by its transaction number, which a standby that takes over gives to another one.',
    patches: [
      {
        file: `server/src/${DATABASE}`,
        find: '      if (!(await begin(channel, write))) {',
        replace: `      if (open !== undefined) {
        const ofXid = \`SELECT CASE WHEN '\${open.xid}'::xid8 < pg_snapshot_xmax(pg_current_snapshot())
          THEN pg_xact_status('\${open.xid}'::xid8) END AS status\`;
        const { rows } = await channel.client.query(ofXid);
        if (rows[0].status === 'committed') return open.value;
      }
      if (!(await begin(channel, write))) {`,
      },
      {
        file: `server/src/${DATABASE}`,
        find: 'open = { write, value };',
        replace: `const { rows } = await channel.client.query('SELECT pg_current_xact_id()::text AS xid');
        open = { write, value, xid: rows[0].xid };`,
      },
    ],
  },
  'found-committed-on-the-old-primary': one(
    'What the primary shows as committed is acknowledged, although its standby was cut off.',
    DATABASE,
    'await confirm(channel, write);',
    "await channel.client.query('ROLLBACK');",
  ),
  'confirmed-without-a-write': one(
    'A transaction that found another one committed writes nothing, so that its commit waits for no standby.',
    NUMBERED,
    '  await channel.run(touch);\n',
    '',
  ),
  'number-used-twice': one(
    'A writer gives each of its transactions the same number.',
    NUMBERED,
    'number: number + 1, now',
    'number: 1, now',
  ),
  'total-not-locked': one(
    'Two instances read the total of an account before one of them has raised it.',
    CHANGES,
    'WHERE account_id = account FOR NO KEY UPDATE;',
    'WHERE account_id = account;',
  ),
  'job-not-locked': one(
    'Two instances run the same part of a job.',
    ENGINE,
    "sqlText('FOR UPDATE SKIP LOCKED')",
    "sqlText('')",
  ),
};
