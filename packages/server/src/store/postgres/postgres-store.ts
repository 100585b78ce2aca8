import type { Link } from '@shortlink/sdk/wire';
import { startOfDay } from '../../domain/limits.ts';
import { pendingJobs, unfinishedJobs } from '../queries/jobs.ts';
import { listLinks } from '../queries/links.ts';
import { storeReads } from '../queries/store-reads.ts';
import { usage } from '../queries/usage.ts';
import type { Caller, CreateOutcome, CreateRequest, NewLink, Store } from '../store.ts';
import { StoreError } from '../store-error.ts';
import { CallGroups } from './call-groups.ts';
import type { Database, Lane } from './database.ts';
import { OpenCalls } from './gate.ts';
import { admissionGroup, admit, refund } from './operations/admit.ts';
import { createBatch, createJob, createLinks } from './operations/create.ts';
import { addClicks, CLICK_SLOTS, type LinkMaker } from './operations/links.ts';
import { pruneSteps } from './operations/prune.ts';
import { runJobChunk } from './operations/run-job-chunk.ts';
import { findLinks, indexLinks, isIndexed } from './operations/targets.ts';
import { operatorWrites } from './operators.ts';
import type { Session } from './session.ts';

/** Requests of one account that are counted or created together, at most. */
const ADMISSIONS_TOGETHER = 1_000;
const CREATES_TOGETHER = 200;

const CLICKS: Lane = { key: 'clicks' };
const INDEX: Lane = { key: 'index' };
const HOUSEKEEPING: Lane = { key: 'housekeeping' };

/**
 * Creates of one account. They follow each other at the row of its total anyway, so more at a time would only wait there, on
 * connections that other accounts need.
 */
function linksOf({ accountId }: Caller): Lane {
  return { key: `links of ${accountId}`, places: 3 };
}

export interface PostgresStoreParts {
  db: Database;
  maker: LinkMaker;
}

type Write = <T>(lane: Lane, act: (session: Session) => Promise<T>) => Promise<T>;

/** What creates links: one, whose transaction is shared with others of the moment; a batch; or a job. */
function creates(
  { db, maker }: PostgresStoreParts,
  calls: OpenCalls,
  write: Write,
): Pick<Store, 'createLink' | 'createBatch' | 'createJob'> {
  const groups = new CallGroups(
    (requests: readonly CreateRequest<NewLink>[]) => createGrouped(db, maker, requests),
    CREATES_TOGETHER,
  );
  return {
    createLink: (request) =>
      calls.run(async () => {
        // Here, so that an unknown domain is no failure of the others in its group.
        await maker.hostnameOf(db.reader, request.input.domain_id);
        return groups.submit(createGroup(request), request);
      }),
    createBatch: (request) =>
      write(linksOf(request.caller), (session) => createBatch(maker, session, request)),
    createJob: (request) =>
      write(linksOf(request.caller), (session) => createJob(session, request)),
  };
}

/** The store on PostgreSQL: any number of instances share one database. */
export function postgresStore({ db, maker }: PostgresStoreParts): Store {
  const calls = new OpenCalls();
  const clickSlot = Math.floor(Math.random() * CLICK_SLOTS);
  const admissions = new CallGroups(
    async (requests: readonly { caller: Caller; now: number }[]) =>
      (await admit(db, requests)).map(fulfilled),
    ADMISSIONS_TOGETHER,
  );
  const write: Write = (lane, act) => calls.run(() => db.write(lane, act));

  let closing: Promise<void> | undefined;
  const close = async () => {
    await calls.close();
    await db.close();
  };

  return {
    ...storeReads((reading) => calls.run(() => db.reader.read(reading)), maker.shortUrl),
    ...operatorWrites(maker, write),
    ...creates({ db, maker }, calls, write),

    admit: (caller, now) =>
      calls.run(() => {
        const request = { caller, now };
        return admissions.submit(admissionGroup(request), request);
      }),
    refund: (caller, now) => calls.run(() => refund(db, { caller, now })),

    listLinks: (search) =>
      calls.run(() => db.search((session) => session.read(listLinks(maker.shortUrl, search)))),

    // A node that lags behind may not know the newest jobs and links.
    pendingJobs: () => calls.run(() => db.primaryReader.read(pendingJobs())),
    unfinishedJobs: (accountId) =>
      calls.run(() => db.primaryReader.read(unfinishedJobs(accountId))),
    findLinks: (accountId, entries, most) =>
      calls.run(() => findLinks(db.primaryReader, maker.shortUrl, accountId, entries, most)),
    indexLinks: () =>
      calls.run(async () => {
        const done = await isIndexed(db.primaryReader);
        if (!done) await db.write(INDEX, indexLinks);
        return { done };
      }),
    runJobChunk: (jobId, now) =>
      write({ key: `job ${jobId}` }, (session) => runJobChunk(maker, session, jobId, now)),

    addClicks: async (clicks, repeatable) => {
      if (clicks.size === 0) return;
      const add = (session: Session) => addClicks(session, clicks, clickSlot);
      await calls.run(() => db.write(CLICKS, add, repeatable));
    },

    usage: (accountId, now) =>
      calls.run(() =>
        db.snapshot((session) => session.read(usage(maker.shortUrl, accountId, now))),
      ),
    prune: (now, signal) =>
      calls.run(async () => {
        for (const step of pruneSteps(now)) {
          while (!signal?.aborted && (await db.write(HOUSEKEEPING, step))) {
            // There is more.
          }
        }
      }),

    isHealthy: () => db.isHealthy,
    connections: () => db.connections,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Creates with the same group may share a transaction: those of one account, under one limit, on one day. */
function createGroup({ caller, now }: CreateRequest<NewLink>): string {
  return [caller.accountId, caller.limits.links, startOfDay(now)].join(' ');
}

/**
 * Creates the links of a group (see {@link createGroup}) in one transaction. When that fails because of what one of them holds,
 * nothing of it is stored, and each is tried alone, so that only that one fails.
 */
async function createGrouped(
  db: Database,
  maker: LinkMaker,
  requests: readonly CreateRequest<NewLink>[],
): Promise<PromiseSettledResult<CreateOutcome<Link>>[]> {
  const [first] = requests;
  if (first === undefined) return [];
  try {
    const outcomes = await db.write(linksOf(first.caller), (session) =>
      createLinks(maker, session, requests),
    );
    return outcomes.map(fulfilled);
  } catch (error) {
    const mayBeOneOfThem =
      error instanceof StoreError && (error.reason === 'invalid' || error.reason === 'internal');
    if (requests.length === 1 || !mayBeOneOfThem) throw error;
  }
  const outcomes: PromiseSettledResult<CreateOutcome<Link>>[] = [];
  for (const request of requests) {
    const alone = createGrouped(db, maker, [request]);
    outcomes.push(...(await alone.catch((reason: unknown) => [rejected(reason)])));
  }
  return outcomes;
}

function fulfilled<T>(value: T): PromiseFulfilledResult<T> {
  return { status: 'fulfilled', value };
}

function rejected(reason: unknown): PromiseRejectedResult {
  return { status: 'rejected', reason };
}
