import type { Link } from '@shortlink/sdk/wire';
import type { LinkSearch, OperatorStore } from '../operator-store.ts';
import * as operators from '../operators.ts';
import * as accounts from '../queries/accounts.ts';
import { findLink } from '../queries/links.ts';
import { type Reading, readAsync, type Writing } from '../queries/reading.ts';
import type { Lane } from './database.ts';
import type { LinkMaker } from './operations/links.ts';
import { type Session, writingOn } from './session.ts';

/** Changes by commands of the operator. */
export const OPERATOR: Lane = { key: 'operator', places: 2 };
const KEY_USES: Lane = { key: 'key uses' };

export interface OperatorStoreParts {
  maker: LinkMaker;
  reader: Session;
  read: <T>(reading: () => Reading<T>) => Promise<T>;
  write: <T>(lane: Lane, act: (session: Session) => Promise<T>) => Promise<T>;
}

/** What only the operator's commands do. */
export function operatorStore({ maker, reader, read, write }: OperatorStoreParts): OperatorStore {
  const run = <T>(writing: () => Writing<T>, lane = OPERATOR) =>
    write(lane, (session) => readAsync(writing(), writingOn(session)));
  return {
    createAccount: (input) =>
      write(OPERATOR, async (session) => {
        const account = await readAsync(operators.createAccount(input), writingOn(session));
        await session.run('INSERT INTO link_totals (account_id) VALUES ($1)', account.id);
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
    listLinks: async (search) => {
      const codes = await findCodes(reader, search);
      const links: Link[] = [];
      for (const code of codes) {
        const link = await read(() => findLink(maker.shortUrl, code));
        if (link !== undefined) links.push(link);
      }
      return links;
    },
  };
}

/** Codes of an account's links, newest first: ids of links sort by their time. */
async function findCodes(
  session: Session,
  { accountId, query, limit, cursor }: LinkSearch,
): Promise<string[]> {
  const text = query ?? '';
  const rows = await session.all<{ code: string }>(
    `SELECT code FROM links WHERE account_id = $1 AND ($2::uuid IS NULL OR id < $2)
       AND (strpos(lower(target_url), lower($3)) > 0 OR strpos(lower(title), lower($4)) > 0
         OR strpos(lower(code), lower($3)) > 0)
     ORDER BY id DESC LIMIT $5`,
    accountId,
    cursor ?? null,
    text,
    // Titles are stored as JSON.
    JSON.stringify(text).slice(1, -1),
    limit,
  );
  return rows.map((row) => row.code);
}
