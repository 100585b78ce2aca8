import type { OperatorStore } from '../operator-store.ts';
import * as operators from '../operators.ts';
import * as accounts from '../queries/accounts.ts';
import { findLink, listLinks } from '../queries/links.ts';
import { type Reading, sql, type Writing } from '../queries/reading.ts';
import type { Lane } from './database.ts';
import type { LinkMaker } from './operations/links.ts';
import type { Session } from './session.ts';

/** Changes by commands of the operator. */
const OPERATOR: Lane = { key: 'operator', places: 2 };
const KEY_USES: Lane = { key: 'key uses' };

export interface OperatorStoreParts {
  maker: LinkMaker;
  read: <T>(reading: () => Reading<T>) => Promise<T>;
  write: <T>(lane: Lane, act: (session: Session) => Promise<T>) => Promise<T>;
}

/** What only the operator's commands do. */
export function operatorStore({ maker, read, write }: OperatorStoreParts): OperatorStore {
  const run = <T>(writing: () => Writing<T>, lane = OPERATOR) =>
    write(lane, (session) => session.write(writing()));
  return {
    createAccount: (input) =>
      write(OPERATOR, async (session) => {
        const account = await session.write(operators.createAccount(input));
        await session.run(sql`INSERT INTO link_totals (account_id) VALUES (${account.id})`);
        return account;
      }),
    listAccounts: () => read(accounts.listAccounts),
    findAccount: (id) => read(() => accounts.findAccount(id)),
    updateAccount: (input) => run(() => operators.updateAccount(input)),
    setAccountDisabled: (input) => run(() => operators.setAccountDisabled(input)),
    createKey: (input) => run(() => operators.createKey(input)),
    listKeys: (accountId) => read(() => accounts.listKeys(accountId)),
    revokeKey: (keyId, now) => run(() => operators.revokeKey(keyId, now)),
    rotateKey: (input) => run(() => operators.rotateKey(input)),
    recordKeyUse: (keyId, now) => run(() => operators.recordKeyUse(keyId, now), KEY_USES),
    addDomain: (input) => run(() => operators.addDomain(input)),
    listDomains: () => read(accounts.listDomains),
    removeDomain: (input) => run(() => operators.removeDomain(input)),
    findLink: (code) => read(() => findLink(maker.shortUrl, code)),
    setLinkActive: (code, active) =>
      run(() => operators.setLinkActive(maker.shortUrl, code, active)),
    listLinks: (search) => read(() => listLinks(maker.shortUrl, search)),
  };
}
