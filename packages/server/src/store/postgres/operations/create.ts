import type { BatchResultItem, Link } from '@shortlink/sdk/wire';
import { exceedsBatchSize, startOfDay, windowsAt } from '../../../domain/limits.ts';
import { finishChunk, insertJob, nextChunk } from '../../job-writes.ts';
import { toResultItem } from '../../links.ts';
import { sql, sqlText } from '../../queries/reading.ts';
import type {
  AcceptedJob,
  Caller,
  CreateJobRequest,
  CreateOutcome,
  CreateRequest,
  JobProgress,
  NewLink,
  Outcome,
  PlanLimitReached,
} from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';
import { createIdempotently } from './idempotency.ts';
import { insertLinks, type LinkMaker } from './links.ts';

/**
 * Creates links of one account that were asked for at the same time in one transaction: the row of the account's total is
 * locked once, and there is one wait for the disk. All get the creation time of the first. When the plan does not allow all of them, those that
 * came first are created, and the others refused.
 */
export async function createLinks(
  maker: LinkMaker,
  session: Session,
  group: readonly CreateRequest<NewLink>[],
): Promise<CreateOutcome<Link>[]> {
  const [first] = group;
  if (first === undefined) return [];
  const { caller, now } = first;
  return createIdempotently(session, group, async (requests) => {
    const wanted = requests.map((request) => ({ keyId: request.caller.keyId, links: 1 }));
    const { granted, refusal } = await takeSlots(session, caller, wanted, now);
    const inputs = requests.slice(0, granted).map((request) => request.input);
    const links = await insertLinks(maker, session, caller.accountId, inputs, now);
    return requests.map((_, index): Outcome<Link> => {
      const value = links[index];
      return value === undefined ? refusal() : { ok: true, value };
    });
  });
}

export function createBatch(
  maker: LinkMaker,
  session: Session,
  request: CreateRequest<readonly NewLink[]>,
): Promise<CreateOutcome<BatchResultItem[]>> {
  const { caller, input, now } = request;
  return createOne(session, request, async (): Promise<Outcome<BatchResultItem[]>> => {
    const refusal = await refuse(session, request, input.length);
    if (refusal !== undefined) return refusal;
    const links = await insertLinks(maker, session, caller.accountId, input, now);
    return { ok: true, value: links.map(toResultItem) };
  });
}

export function createJob(
  session: Session,
  request: CreateJobRequest,
): Promise<CreateOutcome<AcceptedJob>> {
  const { caller, input, now } = request;
  return createOne(session, request, async (): Promise<Outcome<AcceptedJob>> => {
    const refusal = await refuse(session, request, input.total);
    if (refusal !== undefined) return refusal;
    return { ok: true, value: await session.write(insertJob(caller.accountId, input, now)) };
  });
}

export async function runJobChunk(
  maker: LinkMaker,
  session: Session,
  jobId: string,
  now: number,
): Promise<JobProgress> {
  const next = await session.write(nextChunk(jobId, sqlText('FOR UPDATE SKIP LOCKED')));
  if ('done' in next) return next;
  const links = await insertLinks(maker, session, next.accountId, next.inputs, now);
  return session.write(finishChunk(next, links.map(toResultItem), now));
}

async function createOne<T>(
  session: Session,
  request: CreateRequest<unknown>,
  create: () => Promise<Outcome<T>>,
): Promise<CreateOutcome<T>> {
  const [outcome] = await createIdempotently(session, [request], async () => [await create()]);
  if (outcome === undefined) throw new StoreError('internal', 'A create has no outcome.');
  return outcome;
}

async function refuse(
  session: Session,
  { caller, now }: CreateRequest<unknown>,
  links: number,
): Promise<PlanLimitReached | undefined> {
  const tooLarge = await refuseLargeBatch(session, caller, links, now);
  if (tooLarge !== undefined) return tooLarge;
  const wanted = [{ keyId: caller.keyId, links }];
  const { granted, refusal } = await takeSlots(session, caller, wanted, now);
  return granted === 1 ? undefined : refusal();
}

interface SlotsTaken {
  /** So many of the requests, from the first on, have their quota slots. */
  granted: number;
  /** The outcome of the other requests. */
  refusal: () => PlanLimitReached;
}

/**
 * Takes quota slots for requests of one account, in order, until the plan is full; a request gets all that it wants, or none. The check, the
 * increase and the counts in the history of each key are one step (see `take_places` in the schema).
 */
async function takeSlots(
  session: Session,
  { accountId, limits }: Caller,
  wanted: readonly { keyId: string; links: number }[],
  now: number,
): Promise<SlotsTaken> {
  const [minute] = windowsAt(now);
  const keys = wanted.map(({ keyId }) => keyId);
  const counts = wanted.map(({ links }) => links);
  const row = await session.get<{ granted: number; used_now: number }>(sql`
    SELECT granted, used_now
    FROM take_places(${accountId}, ${limits.links}, ${startOfDay(now)}, ${minute.startsAt}, ${keys}, ${counts})`);
  if (row === undefined) throw new StoreError('internal', `There is no account ${accountId}.`);
  const { granted, used_now: used } = row;
  const allowed = limits.links ?? used;
  const refusal = (): PlanLimitReached => ({
    ok: false,
    reason: 'plan_limit',
    limit: 'links',
    used,
    allowed,
  });
  return { granted, refusal };
}

/** Refuses a batch that has more links than the plan allows in one request, and counts that in the history of the key. */
async function refuseLargeBatch(
  session: Session,
  { keyId, limits }: Caller,
  count: number,
  now: number,
): Promise<PlanLimitReached | undefined> {
  const allowed = limits.batch_size;
  if (allowed === null || !exceedsBatchSize(limits, count)) return undefined;
  const [minute] = windowsAt(now);
  await session.run(sql`
    WITH history AS (
      INSERT INTO key_links AS history (key_id, day, links, refused) VALUES (${keyId}, ${startOfDay(now)}, 0, 1)
      ON CONFLICT (key_id, day) DO UPDATE SET refused = history.refused + 1)
    INSERT INTO key_refusals AS refusals (key_id, minute, reason, count)
    VALUES (${keyId}, ${minute.startsAt}, 'batch_size', 1)
    ON CONFLICT (key_id, minute, reason) DO UPDATE SET count = refusals.count + 1`);
  return { ok: false, reason: 'plan_limit', limit: 'batch_size', used: count, allowed };
}
