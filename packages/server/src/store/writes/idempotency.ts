import { rowOf, rowsOf, sql, type Writing } from '../queries/reading.ts';
import { IDEMPOTENCY_RETENTION_MS } from '../retention.ts';
import type { CreateOutcome, CreateRequest, Idempotency } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { Engine } from './engine.ts';

/** How often keys are claimed, or else their responses read, while other requests with these keys come in between. */
const CLAIM_TRIES = 5;

type StoredResponse = Idempotency & { answer: string };

/** What a look at the records needs. */
type Tables = Pick<Engine, 'table' | 'isAlone'>;

/**
 * A request of an account whose idempotency key had a response within the retention gets that response. The others are passed to `create`, in
 * order, which gives an outcome for each; these are kept in the same transaction. A refusal is not kept: nothing was created, so
 * the same request may pass later.
 *
 * A key is claimed by inserting its record first: a duplicate, on any instance, waits in the index until this transaction
 * has ended. Then it finds the response, or creates the link itself when there is none. A duplicate among `requests` comes after all others.
 */
export function createIdempotently<T, R extends CreateRequest<unknown>>(
  engine: Tables,
  requests: readonly R[],
  create: (requests: readonly R[]) => Writing<CreateOutcome<T>[]>,
): Writing<CreateOutcome<T>[]> {
  const isKeyed = requests.some(({ idempotency }) => idempotency !== undefined);
  if (!isKeyed) return create(requests);
  const [request] = requests;
  const isOne = engine.isAlone && request !== undefined && requests.length === 1;
  return isOne ? createAlone(request, create) : createKeyed(engine, requests, create);
}

/** Where nobody else writes meanwhile, a key needs no claim: this takes half the time. */
function* createAlone<T, R extends CreateRequest<unknown>>(
  request: R,
  create: (requests: readonly R[]) => Writing<CreateOutcome<T>[]>,
): Writing<CreateOutcome<T>[]> {
  const { caller, idempotency: { key, fingerprint } = { key: '', fingerprint: '' }, now } = request;
  const earlier = yield* rowOf<StoredResponse>(sql`
    SELECT key, fingerprint, answer FROM idempotency_records
    WHERE account_id = ${caller.accountId} AND key = ${key} AND created_at > ${now - IDEMPOTENCY_RETENTION_MS}`);
  if (earlier !== undefined) return [replay(request, earlier)];
  const outcomes = yield* create([request]);
  const [outcome] = outcomes;
  if (outcome?.ok) {
    yield* rowsOf(sql`
      INSERT INTO idempotency_records (account_id, key, fingerprint, answer, created_at)
      VALUES (${caller.accountId}, ${key}, ${fingerprint}, ${JSON.stringify(outcome.value)}, ${now})
      ON CONFLICT (account_id, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at`);
  }
  return outcomes;
}

function* createKeyed<T, R extends CreateRequest<unknown>>(
  engine: Tables,
  requests: readonly R[],
  create: (requests: readonly R[]) => Writing<CreateOutcome<T>[]>,
): Writing<CreateOutcome<T>[]> {
  const outcomes = new Map<R, CreateOutcome<T>>();
  for (let open = requests; open.length > 0; open = open.filter((one) => !outcomes.has(one))) {
    const group = withoutDuplicates(open);
    const earlier = yield* claim(engine, group);
    const due: R[] = [];
    for (const request of group) {
      const stored = earlier.get(request.idempotency?.key ?? '');
      if (stored === undefined) due.push(request);
      else outcomes.set(request, replay(request, stored));
    }
    if (due.length === 0) continue;
    const created = yield* create(due);
    yield* keep(engine, due, created);
    for (const [index, outcome] of created.entries()) {
      const request = due[index];
      if (request !== undefined) outcomes.set(request, outcome);
    }
  }
  return requests.flatMap((request) => outcomes.get(request) ?? []);
}

/** The requests without a key, and the first one of each key. */
function withoutDuplicates<R extends CreateRequest<unknown>>(requests: readonly R[]): R[] {
  const keys = new Set<string>();
  return requests.filter(({ idempotency }) => {
    if (idempotency === undefined) return true;
    const isFirst = !keys.has(idempotency.key);
    keys.add(idempotency.key);
    return isFirst;
  });
}

function replay<T>(request: CreateRequest<unknown>, stored: StoredResponse): CreateOutcome<T> {
  return stored.fingerprint === request.idempotency?.fingerprint
    ? { ok: true, value: JSON.parse(stored.answer), replayed: true }
    : { ok: false, reason: 'idempotency_conflict' };
}

/** Claims keys, and returns the responses to those that were claimed before. A record past its retention is taken over. */
function* claim(
  { table }: Tables,
  requests: readonly CreateRequest<unknown>[],
): Writing<Map<string, StoredResponse>> {
  const earlier = new Map<string, StoredResponse>();
  // Every instance claims keys in this order, so that no two wait for each other.
  let open = requests
    .flatMap(({ idempotency }) => idempotency ?? [])
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const { caller, now } = requests[0] ?? { caller: { accountId: '' }, now: 0 };
  for (let tries = 0; open.length > 0; tries += 1) {
    if (tries === CLAIM_TRIES) {
      const message = 'Other requests with this idempotency key come in between each time.';
      throw new StoreError('busy', message);
    }
    const claimed = yield* rowsOf<{ key: string }>(sql`
      INSERT INTO idempotency_records AS record (account_id, key, fingerprint, answer, created_at)
        SELECT ${caller.accountId}, key, fingerprint, '', ${now} FROM ${table(['key', 'fingerprint'], open)} WHERE true
      ON CONFLICT (account_id, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, answer = '', created_at = excluded.created_at
        WHERE record.created_at <= ${now - IDEMPOTENCY_RETENTION_MS}
      RETURNING key`);
    const ours = new Set(claimed.map(({ key }) => key));
    open = open.filter(({ key }) => !ours.has(key));
    if (open.length === 0) break;
    const answers = yield* rowsOf<StoredResponse>(sql`
      SELECT key, fingerprint, answer FROM idempotency_records
      WHERE account_id = ${caller.accountId} AND key IN (SELECT key FROM ${table(['key'], open)})`);
    for (const answer of answers) earlier.set(answer.key, answer);
    open = open.filter(({ key }) => !earlier.has(key));
  }
  return earlier;
}

/** Keeps the responses of what was created, and drops the claims of what was refused. */
function* keep(
  { table }: Tables,
  requests: readonly CreateRequest<unknown>[],
  outcomes: readonly CreateOutcome<unknown>[],
): Writing<void> {
  const kept: StoredResponse[] = [];
  const dropped: Idempotency[] = [];
  for (const [index, { idempotency }] of requests.entries()) {
    const outcome = outcomes[index];
    if (idempotency === undefined || outcome === undefined) continue;
    if (outcome.ok) kept.push({ ...idempotency, answer: JSON.stringify(outcome.value) });
    else dropped.push(idempotency);
  }
  const { caller, now } = requests[0] ?? { caller: { accountId: '' }, now: 0 };
  if (kept.length > 0) {
    yield* rowsOf(sql`
      INSERT INTO idempotency_records (account_id, key, fingerprint, answer, created_at)
        SELECT ${caller.accountId}, key, fingerprint, answer, ${now} FROM ${table(['key', 'fingerprint', 'answer'], kept)} WHERE true
      ON CONFLICT (account_id, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at`);
  }
  if (dropped.length > 0) {
    yield* rowsOf(sql`
      DELETE FROM idempotency_records
      WHERE account_id = ${caller.accountId} AND key IN (SELECT key FROM ${table(['key'], dropped)})`);
  }
}
