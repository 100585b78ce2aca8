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
