import { importLinks } from '../imports.ts';
import type { ShortUrl } from '../links.ts';
import type { ExportedLink, ExportSearch } from '../operator-store.ts';
import * as operators from '../operators.ts';
import { exportPage } from '../queries/aliases.ts';
import { sql, type Writing } from '../queries/reading.ts';
import type { Store } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { Database } from './database.ts';
import type { LinkMaker } from './operations/links.ts';
import type { Session } from './session.ts';

/** Changes by commands of the operator. */
const OPERATOR = 'operator';
const KEY_USES = 'key uses';

/** The changes that only the operator's commands make. */
export function operatorWrites(
  { shortUrl, generateCode }: LinkMaker,
  write: <T>(queue: string, act: (session: Session) => Promise<T>) => Promise<T>,
) {
  const run = <T>(writing: () => Writing<T>, queue = OPERATOR) =>
    write(queue, (session) => session.write(writing()));
  const titleColumn = (json: string) => sql`${json}`;
  const engine = { generateCode, titleColumn, numberColumn: (number: number) => sql`${number}` };
  return {
    createAccount: (input) =>
      write(OPERATOR, async (session) => {
        const account = await session.write(operators.createAccount(input));
        await session.run(sql`INSERT INTO link_totals (account_id) VALUES (${account.id})`);
        return account;
      }),
    updateAccount: (input) => run(() => operators.updateAccount(input)),
    setAccountDisabled: (input) => run(() => operators.setAccountDisabled(input)),
    createKey: (input) => run(() => operators.createKey(input)),
    revokeKey: (keyId, now) => run(() => operators.revokeKey(keyId, now)),
    rotateKey: (input) => run(() => operators.rotateKey(input)),
    recordKeyUse: (keyId, now) => run(() => operators.recordKeyUse(keyId, now), KEY_USES),
    addDomain: (input) => run(() => operators.addDomain(input)),
    removeDomain: (input) => run(() => operators.removeDomain(input)),
    updateLink: (input) => run(() => operators.updateLink(shortUrl, titleColumn, input)),
    importLinks: (input) => run(() => importLinks(input, engine)),
    setLinkActive: (code, active) => run(() => operators.setLinkActive(shortUrl, code, active)),
  } satisfies Partial<Store>;
}

/** See `Store.exportLinks`. A connection that is lost on the way can't be replaced: another one sees a later moment. */
export async function exportLinks(
  db: Pick<Database, 'search'>,
  shortUrl: ShortUrl,
  search: ExportSearch,
  onLinks: (links: readonly ExportedLink[]) => Promise<void>,
): Promise<void> {
  let after = '';
  await db.search(async (session) => {
    if (after !== '') throw new StoreError('unavailable', 'The connection was lost. Try again.');
    // Whoever takes the links may be slow.
    await session.all(sql`SELECT set_config('idle_in_transaction_session_timeout', '0', true)`);
    for (;;) {
      const links = await session.read(exportPage(shortUrl, search, after));
      const last = links.at(-1);
      if (last === undefined) return;
      await onLinks(links);
      after = last.code;
    }
  }, 'ISOLATION LEVEL REPEATABLE READ READ ONLY');
}
