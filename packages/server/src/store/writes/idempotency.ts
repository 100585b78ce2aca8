import type { Engine } from '../engine.ts';
import { rowsOf, sql, sqlList, type Writing } from '../queries/reading.ts';
import { IDEMPOTENCY_RETENTION_MS } from '../retention.ts';
import type { CreateOutcome, CreateRequest, Idempotency } from '../store.ts';
import { StoreError } from '../store-error.ts';

type StoredResponse = Idempotency & { answer: string };

type Tables = Pick<Engine, 'table' | 'isAlone'>;

/** Creates what was asked for, in order, and gives an outcome for each. */
type Create<T, R> = (requests: readonly R[]) => Writing<CreateOutcome<T>[]>;

/**
 * A request whose idempotency key had a response within the retention gets it, also where another of `requests` made it. `create` gets the others; their
 * outcomes are kept in the same transaction. A refusal is not kept: nothing was created, so the same request may pass later.
 */
export function* createIdempotently<T, R extends CreateRequest<unknown>>(
  engine: Tables,
  requests: readonly R[],
  create: Create<T, R>,
): Writing<CreateOutcome<T>[]> {
  if (requests.every(({ idempotency }) => idempotency === undefined))
    return yield* create(requests);
  const outcomes = new Map<R | undefined, CreateOutcome<T>>();
  for (let open = requests; open.length > 0; open = open.filter((one) => !outcomes.has(one))) {
    const firsts = new Map(open.toReversed().map((one) => [one.idempotency?.key ?? one, one]));
    const group = open.filter((one) => firsts.get(one.idempotency?.key ?? one) === one);
    const earlier = yield* earlierResponses(engine, group);
    for (const request of group) {
      const stored = earlier.get(request.idempotency?.key);
      if (stored !== undefined) outcomes.set(request, replay(request, stored));
    }
    const due = group.filter((one) => !outcomes.has(one));
    if (due.length === 0) continue;
    const created = yield* create(due);
    yield* keep(engine, due, created);
    for (const [index, outcome] of created.entries()) outcomes.set(due[index], outcome);
  }
  return requests.flatMap((request) => outcomes.get(request) ?? []);
}

function replay<T>(request: CreateRequest<unknown>, stored: StoredResponse): CreateOutcome<T> {
  return stored.fingerprint === request.idempotency?.fingerprint
    ? { ok: true, value: JSON.parse(stored.answer), replayed: true }
    : { ok: false, reason: 'idempotency_conflict' };
}

/**
 * The responses to keys, by key. Where others write meanwhile, each key that has none is claimed by inserting its record: a duplicate on any
 * instance waits in the index until this transaction has ended. Then it finds the response, or creates the link itself when there is none.
 */
function* earlierResponses(
  { table, isAlone }: Tables,
  requests: readonly CreateRequest<unknown>[],
): Writing<Map<string | undefined, StoredResponse>> {
  const { caller, now } = firstOf(requests);
  const oldest = now - IDEMPOTENCY_RETENTION_MS;
  // Every instance claims keys in this order, so that no two wait for each other.
  const keys = requests
    .flatMap(({ idempotency }) => idempotency ?? [])
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const found = yield* rowsOf<StoredResponse>(
    isAlone
      ? sql`
    SELECT key, fingerprint, answer FROM idempotency_records
    WHERE account_id = ${caller.accountId} AND key IN (${sqlList(keys.map(({ key }) => sql`${key}`))}) AND created_at > ${oldest}`
      : sql`
    INSERT INTO idempotency_records AS record (account_id, key, fingerprint, answer, created_at)
      SELECT ${caller.accountId}, key, fingerprint, '', ${now} FROM ${table(['key', 'fingerprint'], keys)}
    ON CONFLICT (account_id, key) DO UPDATE SET
      answer = CASE WHEN record.created_at <= ${oldest} THEN '' ELSE record.answer END
    RETURNING key, fingerprint, answer`,
  );
  return new Map(found.filter(({ answer }) => answer !== '').map((row) => [row.key, row]));
}

/** Keeps the responses of what was created, and drops the claims of what was refused. */
function* keep(
  { table, isAlone }: Tables,
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
  const { caller, now } = firstOf(requests);
  const [first] = kept;
  if (first !== undefined) {
    // SQLite takes half the time for one row without a table.
    const rows =
      kept.length === 1
        ? sql`VALUES (${caller.accountId}, ${first.key}, ${first.fingerprint}, ${first.answer}, ${now})`
        : sql`SELECT ${caller.accountId}, key, fingerprint, answer, ${now} FROM ${table(['key', 'fingerprint', 'answer'], kept)}`;
    yield* rowsOf(sql`
      INSERT INTO idempotency_records (account_id, key, fingerprint, answer, created_at) ${rows}
      ON CONFLICT (account_id, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at`);
  }
  if (dropped.length > 0 && !isAlone) {
    yield* rowsOf(sql`
      DELETE FROM idempotency_records
      WHERE account_id = ${caller.accountId} AND key IN (SELECT key FROM ${table(['key'], dropped)})`);
  }
}

export function firstOf<T>(values: readonly T[]): T {
  const [first] = values;
  if (first === undefined) throw new StoreError('internal', 'A create has no outcome.');
  return first;
}
