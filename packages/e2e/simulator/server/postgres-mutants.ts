import { type Mutant, one } from './mutant.ts';

const NUMBERED = 'store/postgres/numbered-write.ts';
const CONNECTIONS = 'store/postgres/connections.ts';
const DATABASE = 'store/postgres/database.ts';
const ENGINE = 'store/postgres/operations/engine.ts';
const CHANGES = 'store/postgres/migrations/changes.ts';
const COUNTERS = 'store/postgres/migrations/minute-counters.ts';

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
  'number-used-twice': one(
    'A writer gives each of its transactions the same number.',
    NUMBERED,
    'number: number + 1, now',
    'number: 1, now',
  ),
  'not-rolled-back': one(
    'A connection is used again although its transaction failed and is still open.',
    CONNECTIONS,
    "return client.query('ROLLBACK').then(",
    'return Promise.resolve(client).then(',
  ),
  'counted-once-more': one(
    'Requests are counted again after the response to their counting was lost.',
    DATABASE,
    'isConflict(error) || isReadOnly(error)',
    'isConflict(error) || isReadOnly(error) || isConnectionLost(error)',
  ),
  'total-not-locked': one(
    'Two instances read the total of an account before one of them has raised it.',
    CHANGES,
    'WHERE account_id = account FOR NO KEY UPDATE;',
    'WHERE account_id = account;',
  ),
  'windows-not-locked': one(
    'Two instances count requests before one of them has written its count.',
    COUNTERS,
    'AND starts_at = month_start FOR UPDATE;\n      IF NOT FOUND',
    'AND starts_at = month_start;\n      IF NOT FOUND',
  ),
  'job-not-locked': one(
    'Two instances run the same part of a job.',
    ENGINE,
    "sqlText('FOR UPDATE SKIP LOCKED')",
    "sqlText('')",
  ),
  'keys-not-sorted': one(
    'Instances claim idempotency keys in the order in which they arrive, and wait for each other.',
    'store/writes/idempotency.ts',
    '\n    .toSorted((a, b) => (a.key < b.key ? -1 : 1))',
    '',
  ),
  'clicks-not-sorted': one(
    'Instances count clicks in the order in which they come, and wait for each other.',
    'store/postgres/operations/clicks.ts',
    '      ORDER BY code\n    ON CONFLICT',
    '    ON CONFLICT',
  ),
  'correction-of-another-target': one(
    'A correction does not notice that another one came first.',
    'store/writes/operators.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the source.
    ' AND target_url = ${target_url} RETURNING code',
    ' RETURNING code',
  ),
};
