import * as operators from '../operators.ts';
import { carryOut, sql } from '../queries/reading.ts';
import type { Store } from '../store.ts';
import type { LinkMaker } from './operations/links.ts';
import type { Session } from './session.ts';

/** Changes by commands of the operator. */
const OPERATOR = 'operator';

/** The changes that only the operator's commands make. */
export function operatorWrites(
  { shortUrl }: LinkMaker,
  write: <T>(queue: string, act: (session: Session) => Promise<T>) => Promise<T>,
) {
  const writings = {
    ...operators,
    setLinkActive: (code: string, active: boolean) =>
      operators.setLinkActive(shortUrl, code, active),
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
