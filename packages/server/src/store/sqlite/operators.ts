import type { LinkSearch } from '../operator-store.ts';
import * as operators from '../operators.ts';
import type { Database } from './database.ts';
import type { Operation } from './operations/operations.ts';

export const operatorOperations: {
  readonly [N in keyof typeof operators]: Operation<N>;
} = {
  createAccount: ({ db }, input) => db.read(operators.createAccount(input)),
  updateAccount: ({ db }, input) => db.read(operators.updateAccount(input)),
  setAccountDisabled: ({ db }, input) => db.read(operators.setAccountDisabled(input)),
  createKey: ({ db }, input) => db.read(operators.createKey(input)),
  revokeKey: ({ db }, keyId, now) => db.read(operators.revokeKey(keyId, now)),
  rotateKey: ({ db }, input) => db.read(operators.rotateKey(input)),
  recordKeyUse: ({ db }, keyId, now) => db.read(operators.recordKeyUse(keyId, now)),
  addDomain: ({ db }, input) => db.read(operators.addDomain(input)),
  removeDomain: ({ db }, input) => db.read(operators.removeDomain(input)),
};

/** Codes of an account's links, newest first: ids of links sort by their time. */
export function findCodes(db: Database, { accountId, query, limit, cursor }: LinkSearch): string[] {
  const text = query ?? '';
  return db
    .all<{ code: string }>(
      `SELECT code FROM links WHERE account_id = ? AND (? = '' OR id < ?)
         AND (instr(lower(target_url), lower(?)) OR instr(lower(title), lower(?)) OR instr(lower(code), lower(?)))
       ORDER BY id DESC LIMIT ?`,
      accountId,
      cursor ?? '',
      cursor ?? '',
      text,
      text,
      text,
      limit,
    )
    .map((row) => row.code);
}
