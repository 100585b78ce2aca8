import { newDomainId } from '../../../domain/ids.ts';
import type { Operation } from './operations.ts';

export const addDomain: Operation<'addDomain'> = ({ db }, { hostname, accountId, now }) => {
  const id = newDomainId();
  const inserted = db.run(
    `INSERT INTO domains (id, hostname, account_id, created_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (hostname) DO NOTHING`,
    id,
    hostname,
    accountId,
    now,
  );
  return inserted === 0 ? undefined : { id, hostname, account_id: accountId };
};
