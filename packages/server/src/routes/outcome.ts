import { idempotencyConflict, planLimitReached } from '../domain/problem.ts';
import type { CreateOutcome } from '../store/store.ts';

/** What a create gave, or the problem that stands in its way. A replayed answer is like a first one. */
export function createdBy<T>(outcome: CreateOutcome<T>): T {
  if (outcome.ok) return outcome.value;
  switch (outcome.reason) {
    case 'plan_limit':
      throw planLimitReached(outcome);
    case 'idempotency_conflict':
      throw idempotencyConflict();
  }
}

/** `true` when an earlier request created what is answered. */
export function isReplay(outcome: CreateOutcome<unknown>): boolean {
  return outcome.ok && outcome.replayed;
}
