import { IDEMPOTENCY_RETENTION_MS } from '../../retention.ts';
import type { CreateOutcome, CreateRequest, Outcome } from '../../store.ts';
import type { Database } from '../database.ts';

/**
 * Returns what an earlier request with the same idempotency key created within the retention, or runs `create` and stores its result
 * in the same step. A refusal is not stored: nothing was created, so the same request may pass later.
 */
export function createIdempotently<T>(
  db: Database,
  { caller, idempotency, now }: CreateRequest<unknown>,
  create: () => Outcome<T>,
): CreateOutcome<T> {
  if (idempotency !== undefined) {
    const earlier = db.get<{ fingerprint: string; answer: string }>(
      `SELECT fingerprint, answer FROM idempotency_records
       WHERE account_id = ? AND key = ? AND created_at > ?`,
      caller.accountId,
      idempotency.key,
      now - IDEMPOTENCY_RETENTION_MS,
    );
    if (earlier !== undefined) {
      return earlier.fingerprint === idempotency.fingerprint
        ? { ok: true, value: JSON.parse(earlier.answer), replayed: true }
        : { ok: false, reason: 'idempotency_conflict' };
    }
  }
  const outcome = create();
  if (!outcome.ok) return outcome;
  if (idempotency !== undefined) {
    db.run(
      `INSERT INTO idempotency_records (account_id, key, fingerprint, answer, created_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (account_id, key) DO UPDATE SET
         fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at`,
      caller.accountId,
      idempotency.key,
      idempotency.fingerprint,
      JSON.stringify(outcome.value),
      now,
    );
  }
  return { ok: true, value: outcome.value, replayed: false };
}
