import { newAccountId } from '../../../domain/ids.ts';
import type { Operation } from './operations.ts';

export const createAccount: Operation<'createAccount'> = ({ db }, { name, plan, limits, now }) => {
  const id = newAccountId();
  db.run(
    'INSERT INTO accounts (id, name, plan, limits, created_at) VALUES (?, ?, ?, ?, ?)',
    id,
    name,
    plan,
    JSON.stringify(limits),
    now,
  );
  return { id, name, plan, limits };
};
