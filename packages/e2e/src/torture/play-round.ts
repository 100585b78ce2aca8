import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess, StartOptions } from '../server-process.ts';
import { checkLinks, checkRefused, checkTotals } from './checks.ts';
import { inspect } from './inspect.ts';
import type { Ledger } from './ledger.ts';
import { putLoadOn } from './load.ts';
import { watchLateness } from './watch-lateness.ts';

/** A `kill -9` may lose the clicks of this many milliseconds. */
const CLICK_WINDOW_MS = 500;

/** The server is ended this many milliseconds after its first response; in some rounds, before one. */
const ROUND_MS = { shortest: 5, longest: 900 } as const;
const IMPATIENT_ROUNDS = 1 / 8;

/** Longest time until the first response, or enough of them, on a busy machine, in milliseconds. */
const ANSWER_TIMEOUT_MS = 100_000;

/** Several servers are ended one after the other, up to so many milliseconds apart. */
const APART_MS = 300;

export interface RoundOptions {
  database: string;
  /** A folder on the disk of the database, for files of this round. */
  folder: string;
  start: (options: StartOptions) => Promise<ServerProcess>;
  key: string;
  ledger: Ledger;
  /** SIGTERM instead of SIGKILL: then no click may be lost. */
  gentle: boolean;
  /** Clicks in the database before this round. */
  clicksBefore: number;
  /** Whether the round may end. On a busy machine, a random moment is too short for any load. */
  hasEnough: () => boolean;
  /** Receives the server, so that the caller can stop it after a failure. */
  onServer: (server: ServerProcess) => void;
}

export interface RoundResult {
  links: number;
  answeredClicks: number;
  lostClicks: number;
  /** Clicks in the database after this round. */
  clicks: number;
  /** The longest delay of a small write on this machine, in milliseconds. */
  lateMs: number;
}

/** Starts the server, puts it under load, ends it at a random moment, and reads the database. */
export async function playRound(options: RoundOptions): Promise<RoundResult> {
  const { database, key, ledger, gentle, clicksBefore, hasEnough } = options;
  const known = new Set(ledger.links.keys());
  const server = await options.start({ database });
  options.onServer(server);
  const lateness = await watchLateness(options.folder);
  let ended = false;
  const load = putLoadOn({ url: server.url, key, ledger, hasEnded: () => ended });
  const moment = randomMoment(() => ledger.links.size > known.size);
  await Promise.race([load, moment.then(() => until(hasEnough))]);
  const lateMs = lateness.stop();
  const endedAt = performance.now();
  await endServers(server, gentle ? 'SIGTERM' : 'SIGKILL');
  ended = true;
  await load;

  const found = await inspect(database);
  try {
    const news = [...ledger.links].filter(([code]) => !known.has(code));
    await checkLinks(news, found);
    await checkRefused(ledger, found);
    checkTotals(found);
    const gained = found.clicks - clicksBefore;
    // A click may wait for the write that is under way, and then for its own: the machine makes each of them late.
    const windowMs = CLICK_WINDOW_MS + 2 * lateMs;
    const due = ledger.clickTimes.filter((time) => gentle || time < endedAt - windowMs);
    if (gained < due.length) {
      throw new Error(`lost ${due.length - gained} clicks older than ${windowMs} ms`);
    }
    if (found.clicks > ledger.sentClicks) throw new Error('more clicks counted than made');
    const answeredClicks = ledger.clickTimes.length;
    const lostClicks = Math.max(0, answeredClicks - gained);
    return { links: news.length, answeredClicks, lostClicks, clicks: found.clicks, lateMs };
  } finally {
    await found.close();
  }
}

/** Ends several servers at different moments, so that the others continue what each had begun. */
async function endServers(server: ServerProcess, signal: NodeJS.Signals): Promise<void> {
  const all: readonly ServerProcess[] =
    'servers' in server && Array.isArray(server.servers) ? server.servers : [];
  for (const one of all.toSorted(() => Math.random() - 0.5)) {
    await one.stop(signal);
    await sleep(Math.random() * APART_MS);
  }
  await server.stop(signal);
}

async function randomMoment(hasAnswered: () => boolean): Promise<void> {
  if (Math.random() > IMPATIENT_ROUNDS) await until(hasAnswered);
  await sleep(ROUND_MS.shortest + Math.random() * (ROUND_MS.longest - ROUND_MS.shortest));
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + ANSWER_TIMEOUT_MS;
  while (!isSo() && performance.now() < deadline) await sleep(5);
}
