import { IDEMPOTENCY_RETENTION_MS } from '../../retention.ts';
import type { CreateOutcome, CreateRequest, Outcome } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';

/** Tries to claim a key, or to read what it was answered, when other requests come in between each time. */
const CLAIM_TRIES = 5;

interface IdempotencyRecord {
  accountId: string;
  key: string;
  fingerprint: string;
  now: number;
}

/**
 * Answers what the same idempotency key was answered within its retention, or runs `create` and keeps its answer in the same
 * transaction. A refusal is not kept: nothing was created, so the same request may pass later.
 *
 * The key is claimed by inserting its record first: a duplicate, on any instance, waits in the index until this transaction
 * has ended, and then finds the answer, or its own chance when there is none.
 */
export async function createOnce<T>(
  session: Session,
  { caller, idempotency, now }: CreateRequest<unknown>,
  create: () => Promise<Outcome<T>>,
): Promise<CreateOutcome<T>> {
  if (idempotency === undefined) return withoutReplay(await create());
  const record = { accountId: caller.accountId, ...idempotency, now };
  for (let tries = 0; tries < CLAIM_TRIES; tries += 1) {
    if (await claim(session, record)) {
      const outcome = await create();
      if (outcome.ok) await keepAnswer(session, record, outcome.value);
      else await dropClaim(session, record);
      return withoutReplay(outcome);
    }
    const earlier = await session.get<{ fingerprint: string; answer: string }>(
      'SELECT fingerprint, answer FROM idempotency_records WHERE account_id = $1 AND key = $2',
      record.accountId,
      record.key,
    );
    if (earlier !== undefined) {
      return earlier.fingerprint === record.fingerprint
        ? { ok: true, value: JSON.parse(earlier.answer), replayed: true }
        : { ok: false, reason: 'idempotency_conflict' };
    }
  }
  throw new StoreError('busy', 'The idempotency key is claimed and dropped all the time.');
}

/** False when the key has an answer. A record past its retention is taken over. */
async function claim(session: Session, record: IdempotencyRecord): Promise<boolean> {
  const claimed = await session.run(
    `INSERT INTO idempotency_records AS record (account_id, key, fingerprint, created_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (account_id, key) DO UPDATE SET
       fingerprint = excluded.fingerprint, answer = NULL, created_at = excluded.created_at
       WHERE record.created_at <= $5`,
    record.accountId,
    record.key,
    record.fingerprint,
    record.now,
    record.now - IDEMPOTENCY_RETENTION_MS,
  );
  return claimed > 0;
}

async function keepAnswer(
  session: Session,
  { accountId, key }: IdempotencyRecord,
  answer: unknown,
): Promise<void> {
  await session.run(
    'UPDATE idempotency_records SET answer = $3 WHERE account_id = $1 AND key = $2',
    accountId,
    key,
    JSON.stringify(answer),
  );
}

async function dropClaim(session: Session, { accountId, key }: IdempotencyRecord): Promise<void> {
  await session.run(
    'DELETE FROM idempotency_records WHERE account_id = $1 AND key = $2',
    accountId,
    key,
  );
}

function withoutReplay<T>(outcome: Outcome<T>): CreateOutcome<T> {
  return outcome.ok ? { ok: true, value: outcome.value, replayed: false } : outcome;
}
