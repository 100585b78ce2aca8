import { startOfDay, windowsAt } from '../../domain/limits.ts';
import type { Engine } from '../engine.ts';
import { begin, methodsOf, readMethods, storeReads, storeWrites } from '../methods.ts';
import type { ExportedLink } from '../operator-store.ts';
import { exportPage } from '../queries/links.ts';
import { readAsync, sql, type Writing } from '../queries/reading.ts';
import { pruneSteps } from '../retention.ts';
import type { Caller, CreateRequest, NewLink, Store } from '../store.ts';
import { StoreError } from '../store-error.ts';
import { createLinks } from '../writes/create.ts';
import type { Database } from './database.ts';
import { admit, findLinks, postgresEngine, refund, rollUpRequests } from './engine.ts';
import { Queues } from './queues.ts';

const ADMISSIONS_TOGETHER = 1_000;
const CREATES_TOGETHER = 200;

type Parts = Parameters<typeof postgresEngine>[0] & { db: Database };

export function postgresStore({ db, ...parts }: Parts): Store {
  const engine = postgresEngine(parts);
  const queues = new Queues();
  const commit = <T>(begin: () => Writing<T>) => db.write((run) => readAsync(begin(), run));
  const write = <T>(queue: string, begin: () => Writing<T>) =>
    queues.run(queue, () => commit(begin));
  const requestsOf = ({ accountId }: Caller) => `requests of ${accountId}`;

  return closable({
    ...readMethods(engine, (reading) => db.read(reading)),
    ...methodsOf<Pick<Store, keyof typeof storeWrites>>(storeWrites, (name, args) =>
      write(queueOf(name, args), () => begin(storeWrites, engine, name, args)),
    ),

    admit: (caller, now) => {
      // One statement counts requests of an account in the same minute, under the same limits.
      const [minute] = windowsAt(now);
      const group = [caller.accountId, minute.startsAt, JSON.stringify(caller.limits)].join(' ');
      const run = (keyIds: readonly string[]) => admit(db, caller, now, keyIds);
      const batching = { group, most: ADMISSIONS_TOGETHER, run };
      return queues.runTogether(requestsOf(caller), batching, caller.keyId);
    },
    refund: (caller, now) => queues.run(requestsOf(caller), () => refund(db, caller, now)),

    createLink: (request) => {
      const { caller, now } = request;
      // One transaction has creates of one account, under one limit, on one day.
      const group = [caller.accountId, caller.limits.links, startOfDay(now)].join(' ');
      const run = (requests: readonly CreateRequest<NewLink>[]) =>
        commit(() => createLinks(engine, requests));
      const batching = { group, most: CREATES_TOGETHER, run };
      // A copy: requests that share a transaction are told apart by their objects.
      return queues.runTogether(linksOf(caller), batching, { ...request });
    },

    listLinks: (search) =>
      db.snapshot((run) => readAsync(storeReads.listLinks(engine, search), run), 'search'),
    exportLinks: (accountId, onLinks) => exportLinks(db, engine, accountId, onLinks),
    // A node that lags behind may not know the newest jobs and links.
    pendingJobs: () => db.readPrimary(storeReads.pendingJobs()),
    unfinishedJobs: (accountId) => db.readPrimary(storeReads.unfinishedJobs(engine, accountId)),
    findLinks: (accountId, entries, most) =>
      db.readPrimary(findLinks(engine, accountId, entries, most)),

    usage: (accountId, now) =>
      db.snapshot((run) => readAsync(storeReads.usage(engine, accountId, now), run)),
    prune: async (now, signal) => {
      for (const step of [() => rollUpRequests(now), ...pruneSteps(now, engine)]) {
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

const linksOf = ({ accountId }: Caller) => `links of ${accountId}`;

function queueOf(name: keyof typeof storeWrites, [first]: unknown[]): string {
  if (name === 'createBatch' || name === 'createJob') {
    return linksOf((first as CreateRequest<unknown>).caller);
  }
  if (name === 'runJobChunk') return `job ${first}`;
  if (name === 'addClicks') return 'clicks';
  return name === 'recordKeyUse' ? 'key uses' : 'operator';
}

/** A lost connection can't be replaced: another sees a later moment. An error of `onLinks` is none of the database, and is thrown at the end. */
async function exportLinks(
  db: Database,
  engine: Engine,
  accountId: string | undefined,
  onLinks: (links: readonly ExportedLink[]) => Promise<void>,
): Promise<void> {
  let after = '';
  let taken = Promise.resolve();
  await db.snapshot(async (run) => {
    if (after !== '') throw new StoreError('unavailable', 'The connection was lost. Try again.');
    // Whoever takes the links may be slow.
    await run(sql`SELECT set_config('idle_in_transaction_session_timeout', '0', true)`);
    for (;;) {
      const links = await readAsync(exportPage(engine, accountId, after), run);
      const last = links.at(-1);
      if (last === undefined) return;
      taken = onLinks(links);
      const [{ status }] = await Promise.allSettled([taken]);
      if (status === 'rejected') return;
      after = last.code;
    }
  }, 'search');
  await taken;
}

/** The same store, which rejects calls once it is closed, and lets those that are under way end before. */
function closable({ isHealthy, connections, ...store }: Store): Store {
  const open = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;
  const guarded: unknown = methodsOf(store, async (name, args) => {
    if (closing !== undefined) throw new StoreError('closed', 'The database was closed.');
    const method = store[name] as (...args: unknown[]) => Promise<unknown>;
    const running = method(...args);
    open.add(running);
    return running.finally(() => open.delete(running));
  });
  const close = () => {
    closing ??= Promise.allSettled(open).then(() => store.close());
    return closing;
  };
  return { ...(guarded as typeof store), isHealthy, connections, close };
}
