import { importLinks } from '../imports.ts';
import type { ShortUrl } from '../links.ts';
import type { ExportedLink, ExportSearch, LinkCorrection, LinkImport } from '../operator-store.ts';
import * as operators from '../operators.ts';
import { exportPage } from '../queries/aliases.ts';
import { carryOut, sql } from '../queries/reading.ts';
import type { Store } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { Database } from './database.ts';
import type { LinkMaker } from './operations/links.ts';
import type { Session } from './session.ts';

/** Changes by commands of the operator. */
const OPERATOR = 'operator';

/** The changes that only the operator's commands make. */
export function operatorWrites(
  { shortUrl, generateCode }: LinkMaker,
  write: <T>(queue: string, act: (session: Session) => Promise<T>) => Promise<T>,
) {
  const titleColumn = (json: string) => sql`${json}`;
  const engine = { generateCode, titleColumn, numberColumn: (number: number) => sql`${number}` };
  const writings = {
    ...operators,
    setLinkActive: (code: string, active: boolean) =>
      operators.setLinkActive(shortUrl, code, active),
    updateLink: (input: LinkCorrection) => operators.updateLink(shortUrl, titleColumn, input),
    importLinks: (input: LinkImport) => importLinks(input, engine),
  };
  return {
    ...carryOut(writings, (begin, name) =>
      write(name === 'recordKeyUse' ? 'key uses' : OPERATOR, (session) => session.write(begin())),
    ),
    createAccount: (input) =>
      write(OPERATOR, async (session) => {
        const account = await session.write(operators.createAccount(input));
        await session.run(sql`INSERT INTO link_totals (account_id) VALUES (${account.id})`);
        return account;
      }),
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
