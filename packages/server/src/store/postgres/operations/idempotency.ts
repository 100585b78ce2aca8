import { sql } from '../../queries/reading.ts';
import { IDEMPOTENCY_RETENTION_MS } from '../../retention.ts';
import type { CreateOutcome, CreateRequest, Idempotency, Outcome } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';

/** How often keys are claimed, or else their responses read, while other requests with these keys come in between. */
const CLAIM_TRIES = 5;

type KeyedRequest = CreateRequest<unknown> & { idempotency: Idempotency };

type StoredResponse = Idempotency & { answer: string };

/**
 * A request of an account whose idempotency key had a response within the retention gets that response. The others are passed to `create`, in
 * order, which gives an outcome for each; these are kept in the same transaction. A refusal is not kept: nothing was created, so
 * the same request may pass later.
 *
 * A key is claimed by inserting its record first: a duplicate, on any instance, waits in the index until this transaction
 * has ended. Then it finds the response, or creates the link itself when there is none.
 */
export async function createIdempotently<T, R extends CreateRequest<unknown>>(
  session: Session,
  requests: readonly R[],
  create: (requests: readonly R[]) => Promise<Outcome<T>[]>,
): Promise<CreateOutcome<T>[]> {
  const claims = firstOfEachKey(requests);
  const earlier = await claim(session, claims);
  const due = requests.filter(
    (request) =>
      !hasKey(request) || (claims.includes(request) && !earlier.has(request.idempotency.key)),
  );
  const outcomes = due.length === 0 ? [] : await create(due);
  const created = new Map<CreateRequest<unknown>, Outcome<T>>();
  for (const [index, request] of due.entries()) {
    const outcome = outcomes[index];
    if (outcome === undefined) throw new StoreError('internal', 'A create has no outcome.');
    created.set(request, outcome);
  }
  await keep(session, created);
  return requests.map((request) => {
    const outcome = created.get(request);
    if (outcome !== undefined) return outcome.ok ? { ...outcome, replayed: false } : outcome;
    return replayOf(request, claims, earlier, created);
  });
}

function hasKey(request: CreateRequest<unknown>): request is KeyedRequest {
  return request.idempotency !== undefined;
}

/** The first request of each key, in the order of the keys. Every instance claims them in this order, so that no two wait for each other. */
function firstOfEachKey(requests: readonly CreateRequest<unknown>[]): KeyedRequest[] {
  const first = new Map<string, KeyedRequest>();
  for (const request of requests) {
    if (hasKey(request) && !first.has(request.idempotency.key)) {
      first.set(request.idempotency.key, request);
    }
  }
  return [...first.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, request]) => request);
}

/** Claims keys, and returns the responses to those that were claimed before. A record past its retention is taken over. */
async function claim(
  session: Session,
  claims: readonly KeyedRequest[],
): Promise<Map<string, StoredResponse>> {
  const [first] = claims;
  const earlier = new Map<string, StoredResponse>();
  if (first === undefined) return earlier;
  const { caller, now } = first;
  let open = claims.map(({ idempotency }) => idempotency);
  for (let tries = 0; tries < CLAIM_TRIES; tries += 1) {
    const keys = open.map(({ key }) => key);
    const fingerprints = open.map(({ fingerprint }) => fingerprint);
    const claimed = await session.all<{ key: string }>(sql`
      INSERT INTO idempotency_records AS record (account_id, key, fingerprint, created_at)
        SELECT ${caller.accountId}, key, fingerprint, ${now}
        FROM unnest(${keys}::text[], ${fingerprints}::text[]) WITH ORDINALITY AS new (key, fingerprint, place)
        ORDER BY place
      ON CONFLICT (account_id, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, answer = NULL, created_at = excluded.created_at
        WHERE record.created_at <= ${now - IDEMPOTENCY_RETENTION_MS}
      RETURNING key`);
    const ours = new Set(claimed.map(({ key }) => key));
    open = open.filter(({ key }) => !ours.has(key));
    if (open.length === 0) return earlier;
    const answers = await session.all<StoredResponse & Record<string, string>>(sql`
      SELECT key, fingerprint, answer FROM idempotency_records
      WHERE account_id = ${caller.accountId} AND key = ANY(${open.map(({ key }) => key)}::text[])`);
    for (const answer of answers) earlier.set(answer.key, answer);
    open = open.filter(({ key }) => !earlier.has(key));
    if (open.length === 0) return earlier;
  }
  throw new StoreError(
    'busy',
    'Other requests with this idempotency key come in between each time.',
  );
}

/** Keeps the responses of what was created, and drops the claims of what was refused. */
async function keep(
  session: Session,
  created: ReadonlyMap<CreateRequest<unknown>, Outcome<unknown>>,
): Promise<void> {
  const kept: [key: string, answer: string][] = [];
  const dropped: string[] = [];
  let accountId = '';
  for (const [request, outcome] of created) {
    if (!hasKey(request)) continue;
    accountId = request.caller.accountId;
    if (outcome.ok) kept.push([request.idempotency.key, JSON.stringify(outcome.value)]);
    else dropped.push(request.idempotency.key);
  }
  if (kept.length > 0) {
    const keys = kept.map(([key]) => key);
    const answers = kept.map(([, answer]) => answer);
    await session.run(sql`
      UPDATE idempotency_records AS record SET answer = new.answer
      FROM unnest(${keys}::text[], ${answers}::text[]) AS new (key, answer)
      WHERE record.account_id = ${accountId} AND record.key = new.key`);
  }
  if (dropped.length > 0) {
    await session.run(sql`
      DELETE FROM idempotency_records WHERE account_id = ${accountId} AND key = ANY(${dropped}::text[])`);
  }
}

/** The response to an earlier request with this key, perhaps one of the same group. */
function replayOf<T>(
  request: CreateRequest<unknown>,
  claims: readonly KeyedRequest[],
  earlier: ReadonlyMap<string, StoredResponse>,
  created: ReadonlyMap<CreateRequest<unknown>, Outcome<T>>,
): CreateOutcome<T> {
  const { key, fingerprint } = request.idempotency ?? { key: '', fingerprint: '' };
  const first = claims.find(({ idempotency }) => idempotency.key === key);
  const stored = earlier.get(key);
  if ((stored ?? first?.idempotency)?.fingerprint !== fingerprint) {
    return { ok: false, reason: 'idempotency_conflict' };
  }
  if (stored !== undefined) return { ok: true, value: JSON.parse(stored.answer), replayed: true };
  const outcome = first && created.get(first);
  if (outcome === undefined) throw new StoreError('internal', 'A replayed create has no outcome.');
  return outcome.ok ? { ...outcome, replayed: true } : outcome;
}
