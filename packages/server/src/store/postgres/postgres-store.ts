import type { Link } from '@shortlink/sdk/wire';
import { startOfDay } from '../../domain/limits.ts';
import { pendingJobs, unfinishedJobs } from '../queries/jobs.ts';
import { listLinks } from '../queries/links.ts';
import { sqlText } from '../queries/reading.ts';
import { storeReads } from '../queries/store-reads.ts';
import { usage } from '../queries/usage.ts';
import { pruneSteps } from '../retention.ts';
import type { Caller, CreateOutcome, CreateRequest, NewLink, Store } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { Database } from './database.ts';
import { admissionGroup, admit, refund, rollUpRequests } from './operations/admit.ts';
import { createBatch, createJob, createLinks, runJobChunk } from './operations/create.ts';
import { addClicks, CLICK_SLOTS, type LinkMaker } from './operations/links.ts';
import { findLinks, indexLinks, isIndexed } from './operations/targets.ts';
import { exportLinks, operatorWrites } from './operators.ts';
import { Queues } from './queues.ts';
import type { Session } from './session.ts';

/** Requests of one account that are counted or created together, at most. */
const ADMISSIONS_TOGETHER = 1_000;
const CREATES_TOGETHER = 200;

const ENGINE = {
  daily: ['key_requests', 'key_links'],
  window: 'period',
  unlessLocked: sqlText('FOR UPDATE SKIP LOCKED'),
};

export interface PostgresStoreParts {
  db: Database;
  maker: LinkMaker;
}

/** The store on PostgreSQL: any number of instances share one database. */
export function postgresStore({ db, maker }: PostgresStoreParts): Store {
  const queues = new Queues();
  const write = <T>(queue: string, act: (session: Session) => Promise<T>) =>
    queues.run(queue, () => db.write(act));
  const requestsOf = ({ accountId }: Caller) => `requests of ${accountId}`;
  const linksOf = ({ accountId }: Caller) => `links of ${accountId}`;
  const clickSlot = Math.floor(Math.random() * CLICK_SLOTS);

  return closable({
    ...storeReads((reading) => db.reader.read(reading), maker.shortUrl),
    ...operatorWrites(maker, write),

    admit: (caller, now) =>
      queues.runTogether(
        requestsOf(caller),
        {
          group: admissionGroup({ caller, now }),
          most: ADMISSIONS_TOGETHER,
          run: async (requests) => Promise.allSettled(await admit(db, requests)),
        },
        { caller, now },
      ),
    refund: (caller, now) => queues.run(requestsOf(caller), () => refund(db, { caller, now })),

    createLink: async (request) => {
      // Here, so that an unknown domain is no failure of the others in its group.
      await maker.hostnameOf(db.reader, request.input.domain_id);
      const batching = {
        group: createGroup(request),
        most: CREATES_TOGETHER,
        run: (requests: readonly CreateRequest<NewLink>[]) => createGrouped(db, maker, requests),
      };
      // A copy: requests that share a transaction are told apart by their objects.
      return queues.runTogether(linksOf(request.caller), batching, { ...request });
    },
    createBatch: (request) =>
      write(linksOf(request.caller), (session) => createBatch(maker, session, request)),
    createJob: (request) =>
      write(linksOf(request.caller), (session) => createJob(session, request)),
    runJobChunk: (jobId, now) =>
      write(`job ${jobId}`, (session) => runJobChunk(maker, session, jobId, now)),

    listLinks: (search) => db.search((session) => session.read(listLinks(maker.shortUrl, search))),
    exportLinks: (search, onLinks) => exportLinks(db, maker.shortUrl, search, onLinks),
    // A node that lags behind may not know the newest jobs and links.
    pendingJobs: () => db.primaryReader.read(pendingJobs()),
    unfinishedJobs: (accountId) => db.primaryReader.read(unfinishedJobs(accountId)),
    findLinks: (accountId, entries, most) =>
      findLinks(db.primaryReader, maker.shortUrl, accountId, entries, most),
    indexLinks: async () => {
      const done = await isIndexed(db.primaryReader);
      if (!done) await write('index', indexLinks);
      return { done };
    },

    addClicks: async (clicks, repeatable) => {
      if (clicks.size === 0) return;
      const add = (session: Session) => addClicks(session, clicks, clickSlot);
      await queues.run('clicks', () => db.write(add, repeatable));
    },

    usage: (accountId, now) =>
      db.snapshot((session) => session.read(usage(maker.shortUrl, accountId, now))),
    prune: async (now, signal) => {
      const steps = pruneSteps(now, ENGINE).map(
        (step) => (session: Session) => session.write(step()),
      );
      const rollUp = (session: Session) => rollUpRequests(session, now);
      for (const step of [indexLinks, rollUp, ...steps]) {
        while (!signal?.aborted && (await write('housekeeping', step))) {
          // There is more.
        }
      }
    },

    isHealthy: () => db.isHealthy,
    connections: () => db.connections,
    close: () => db.close(),
  });
}

/** The same store, which rejects calls once it is closed, and lets those that are under way end before. */
function closable(store: Store): Store {
  const open = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;
  const close = async () => {
    await Promise.allSettled(open);
    await store.close();
  };
  const guarded = Object.entries(store).map(
    ([name, method]: [string, (...args: unknown[]) => unknown]) => {
      const call = async (...args: unknown[]) => {
        if (closing !== undefined) throw new StoreError('closed', 'The database was closed.');
        const running = Promise.resolve(method(...args));
        open.add(running);
        try {
          return await running;
        } finally {
          open.delete(running);
        }
      };
      return [name, call];
    },
  );
  const { isHealthy, connections } = store;
  return {
    ...(Object.fromEntries(guarded) as unknown as Store),
    isHealthy,
    connections,
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
  try {
    return await Promise.allSettled(
      await db.write((session) => createLinks(maker, session, requests)),
    );
  } catch (error) {
    const mayBeOneOfThem =
      error instanceof StoreError && (error.reason === 'invalid' || error.reason === 'internal');
    if (requests.length === 1 || !mayBeOneOfThem) throw error;
  }
  const outcomes: PromiseSettledResult<CreateOutcome<Link>>[] = [];
  for (const request of requests) {
    const alone = createGrouped(db, maker, [request]);
    const rejected = (reason: unknown) => [{ status: 'rejected', reason } as const];
    outcomes.push(...(await alone.catch(rejected)));
  }
  return outcomes;
}
