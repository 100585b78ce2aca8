import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend } from '../backend.ts';
import { newCaller, openDatabase } from '../operator.ts';
import type { ServerProcess } from '../server-process.ts';
import { checkJobs, checkLinks, checkRefused, checkTotals } from './checks.ts';
import { inspect } from './inspect.ts';
import { Ledger } from './ledger.ts';
import { playRound, type RoundResult } from './play-round.ts';

/** In every n-th round the server gets SIGTERM instead of SIGKILL. */
const GENTLE_EVERY = 10;

export interface TortureReport {
  rounds: number;
  kills: number;
  acknowledgedLinks: number;
  acceptedJobs: number;
  answeredClicks: number;
  /** Redirects that were sent and not counted as clicks: in total, and in the worst round. */
  lostClicks: number;
  mostLostInARound: number;
  /** The longest delay of a small write on this machine: the window of lost clicks is longer by twice as much. */
  latestMs: number;
}

/** The load of an average round, at least. With less of it, a kill would interrupt nothing. */
export const LEAST_OF_A_ROUND = { links: 50, clicks: 20 } as const;

/**
 * Kills a busy server again and again, or with `SHORTLINK_E2E_BACKEND=cluster` three that share a PostgreSQL; rejects when anything it had acknowledged turns out untrue.
 */
export async function runTorture(
  rounds: number,
  onRound: (round: number, result: RoundResult) => void = () => undefined,
): Promise<TortureReport> {
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-torture-'));
  const backend = await createBackend(folder);
  const { database } = backend;
  let server: ServerProcess | undefined;
  const onServer = (started: ServerProcess) => {
    server = started;
  };
  try {
    const key = await makeKey(database);
    const ledger = new Ledger();
    const report = {
      rounds,
      kills: 0,
      answeredClicks: 0,
      lostClicks: 0,
      mostLostInARound: 0,
      latestMs: 0,
    };
    let clicksBefore = 0;
    for (let round = 1; round <= rounds; round += 1) {
      const gentle = round % GENTLE_EVERY === 0;
      const result = await playRound({
        database,
        folder,
        start: backend.start,
        key,
        ledger,
        gentle,
        clicksBefore,
        // The last round makes up for what the others lack.
        hasEnough: () =>
          round < rounds ||
          (ledger.jobs.size > 0 &&
            ledger.links.size > LEAST_OF_A_ROUND.links * rounds &&
            report.answeredClicks + ledger.clickTimes.length > LEAST_OF_A_ROUND.clicks * rounds),
        onServer,
      });
      clicksBefore = result.clicks;
      ledger.clickTimes = [];
      report.kills += gentle ? 0 : 1;
      report.answeredClicks += result.answeredClicks;
      report.lostClicks += result.lostClicks;
      report.mostLostInARound = Math.max(report.mostLostInARound, result.lostClicks);
      report.latestMs = Math.max(report.latestMs, Math.round(result.lateMs));
      onRound(round, result);
    }
    onServer(await backend.start({ database }));
    if (server !== undefined) await checkJobs(server.url, key, ledger);
    await server?.stop();
    await checkEnd(database, ledger);
    return { ...report, acknowledgedLinks: ledger.links.size, acceptedJobs: ledger.jobs.size };
  } finally {
    await server?.stop('SIGKILL');
    await backend.remove();
    await rm(folder, { recursive: true, force: true });
  }
}

async function checkEnd(database: string, ledger: Ledger): Promise<void> {
  const found = await inspect(database);
  await checkLinks(ledger.links, found);
  await checkRefused(ledger, found);
  checkTotals(found);
  if (found.outstanding > 0) throw new Error('a job is not finished');
  if (found.links > ledger.sentLinks) throw new Error('more links than were asked for');
  await found.close();
}

async function makeKey(database: string): Promise<string> {
  const store = await openDatabase(database, 'http://127.0.0.1');
  const { key } = await newCaller(store, 'custom');
  await store.close();
  return key;
}
