import { count, type Shares } from '../kernel/shares.ts';
import type { RunPlan, UserTraits } from '../scenario/scenario.ts';
import { pairOfRow } from './ledger.ts';
import type { LinkLimit } from './link-limit.ts';
import type { SentOnce } from './sent-once.ts';

/** Counts in which part of a run, and of its rows, rules were checked that can't be checked always. */
export function countShares(
  shares: Shares,
  { rows, dryRun }: RunPlan,
  user: UserTraits,
  sent: SentOnce,
  limit: LinkLimit | undefined,
): void {
  if (dryRun) return;
  const valid = rows.filter(({ kind }) => kind !== 'invalid');
  const exact = valid.filter((row) => sent.isExact(pairOfRow(row, user)));
  const [isExact, isAsked] = [exact.length === valid.length, limit !== undefined];
  count(shares, 'no row is sent twice', Number(isExact), 1);
  count(shares, 'the same by rows', exact.length, valid.length);
  count(shares, 'no link too many, by look-up', Number(isAsked), 1);
  count(shares, 'lost files', Number(user.losesFiles), 1);
}
