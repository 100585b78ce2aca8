import type { BatchResultItem, Link } from '@shortlink/sdk/wire';
import { newUuid } from '../../../domain/ids.ts';
import type {
  AcceptedJob,
  CreateOutcome,
  CreateRequest,
  NewLink,
  Outcome,
  PlanLimitReached,
} from '../../store.ts';
import type { Session } from '../session.ts';
import { createOnce } from './idempotency.ts';
import { insertLink, insertLinks, type LinkMaker, toResultItem } from './insert-links.ts';
import { refuseLargeBatch, takePlaces, tryTakePlaces } from './take-places.ts';

export function createLink(
  maker: LinkMaker,
  session: Session,
  request: CreateRequest<NewLink>,
): Promise<CreateOutcome<Link>> {
  const { caller, input, now } = request;
  return createOnce(session, request, async () => {
    const refusal = await takePlaces(session, caller, 1, now);
    if (refusal !== undefined) return refusal;
    return { ok: true, value: await insertLink(maker, session, caller.accountId, input, now) };
  });
}

/**
 * Creates links of one account that were asked for at the same time, for the price of one: the row of the account's total is
 * locked once, and the disk is waited for once. They share the time of the first. `undefined` when there isn't place for all:
 * then none is created.
 */
export async function createLinksTogether(
  maker: LinkMaker,
  session: Session,
  requests: readonly CreateRequest<NewLink>[],
): Promise<Link[] | undefined> {
  const [first] = requests;
  if (first === undefined) return [];
  const { caller, now } = first;
  const byKey = new Map<string, number>();
  for (const { caller: one } of requests) byKey.set(one.keyId, (byKey.get(one.keyId) ?? 0) + 1);
  if (!(await tryTakePlaces(session, { caller, byKey, now }))) return undefined;
  const inputs = requests.map((request) => request.input);
  return insertLinks(maker, session, caller.accountId, inputs, now);
}

export function createBatch(
  maker: LinkMaker,
  session: Session,
  request: CreateRequest<readonly NewLink[]>,
): Promise<CreateOutcome<BatchResultItem[]>> {
  const { caller, input, now } = request;
  return createOnce(session, request, async (): Promise<Outcome<BatchResultItem[]>> => {
    const refusal = await refuse(session, request, input.length);
    if (refusal !== undefined) return refusal;
    const links = await insertLinks(maker, session, caller.accountId, input, now);
    return { ok: true, value: links.map(toResultItem) };
  });
}

/** The links of a job, cut into the JSON arrays that are stored until their turn comes. */
export interface JobInput {
  total: number;
  chunks: readonly string[];
}

/** `enqueue` is part of the same transaction: there is no accepted job that nobody is handed. */
export function createJob(
  session: Session,
  request: CreateRequest<JobInput>,
  enqueue: (session: Session, jobId: string) => Promise<void>,
): Promise<CreateOutcome<AcceptedJob>> {
  const { caller, input, now } = request;
  return createOnce(session, request, async (): Promise<Outcome<AcceptedJob>> => {
    const refusal = await refuse(session, request, input.total);
    if (refusal !== undefined) return refusal;
    const jobId = newUuid();
    await session.run(
      'INSERT INTO jobs (id, account_id, total, created_at) VALUES ($1, $2, $3, $4)',
      jobId,
      caller.accountId,
      input.total,
      now,
    );
    await session.run(
      `INSERT INTO job_chunks (job_id, chunk, inputs)
       SELECT $1, chunk - 1, inputs FROM unnest($2::text[]) WITH ORDINALITY AS new (inputs, chunk)`,
      jobId,
      input.chunks,
    );
    await enqueue(session, jobId);
    return { ok: true, value: { job_id: jobId, total: input.total } };
  });
}

async function refuse(
  session: Session,
  { caller, now }: CreateRequest<unknown>,
  count: number,
): Promise<PlanLimitReached | undefined> {
  return (
    (await refuseLargeBatch(session, caller, count, now)) ??
    (await takePlaces(session, caller, count, now))
  );
}
