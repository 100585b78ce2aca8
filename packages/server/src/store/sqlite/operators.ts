import * as operators from '../operators.ts';
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
  setLinkActive: ({ db, shortUrl }, code, active) =>
    db.read(operators.setLinkActive(shortUrl, code, active)),
};
