import type {
  ImportDeps,
  ImportEvent,
  ImportSettings,
  ImportSummary,
} from '../../cli/src/import/types.ts';
import {
  argvOf,
  checkParsed,
  hasLostSummary,
  ioOf,
  type RunCommand,
  storeAddress,
} from './command.ts';
import { Random } from './kernel/random.ts';
import type { CommandTraits, UserTraits } from './scenario/scenario.ts';
import type { OwnServer } from './services/own.ts';
import type { Network } from './world/network.ts';
import { piecesOf } from './world/pieces.ts';
import type { Process, World } from './world/world.ts';

/** The programs under test, loaded once the stand-ins are there. */
export interface Programs {
  runImport: (settings: ImportSettings, deps: ImportDeps) => Promise<ImportSummary>;
  createClient: (options: object) => ImportDeps['client'];
  runCommand: RunCommand;
  exitCodeOf: (summary: ImportSummary) => number;
  server: OwnServer;
}

/** How one program ended: the summary or error of its import, or neither where it was killed. */
export interface Ended {
  process: Process;
  summary: ImportSummary | undefined;
  error: unknown;
  events: ImportEvent[];
  /** What it wrote to standard output, and as a command to standard error. */
  stdout: string;
  stderr: string;
  /** Of a command that has ended. */
  exitCode: number | undefined;
}

/** A program that was started. */
export interface Started {
  isDone: boolean;
  value: Ended;
  /** Presses Ctrl-C. */
  press: (which: 'soft' | 'hard') => void;
}

/** What programs have around them. */
interface Surroundings {
  programs: Programs;
  world: World;
  network: Network;
  user: UserTraits;
  apiKey: string;
  /** What is piped into it. */
  stdin: string;
}

/** Starts a program. It begins with an event of its own, as all that it does follows from its events. */
export function startProgram(
  process: Process,
  settings: ImportSettings,
  around: Surroundings,
): Started {
  const { user, world } = around;
  const { command } = user;
  const value = { process, summary: undefined, error: undefined, events: [] };
  const printed = { stdout: '', stderr: '', exitCode: undefined };
  const started: Started = { isDone: false, value: { ...value, ...printed }, press: () => {} };
  world.scheduler.after(0, process, () => {
    if (command === undefined) startImport(settings, started, around);
    else startCommand(settings, command, started, around);
  });
  return started;
}

/** As the command starts it. */
function startImport(settings: ImportSettings, started: Started, around: Surroundings): void {
  const { programs, world, network, user, apiKey, stdin } = around;
  const { value } = started;
  const { process } = value;
  const stop = { soft: new AbortController(), hard: new AbortController() };
  started.press = (which) => stop[which].abort(new Error('Interrupted'));
  const client = programs.createClient({
    apiKey,
    baseUrl: settings.baseUrl,
    fetch: network.fetch,
    requestsPerMinute: user.requestsPerMinute,
    maxRetryAfterMs: user.maxWaitMs,
    idempotency: user.idempotency,
  });
  const deps: ImportDeps = {
    client,
    stdin: (async function* () {
      yield* piecesOf(Buffer.from(stdin), new Random(stdin.length));
    })(),
    stdout: {
      write: (bytes, done) => {
        value.stdout += Buffer.from(bytes).toString();
        done();
      },
    },
    onEvent: (event) => value.events.push(event),
    signal: stop.hard.signal,
    stopSignal: stop.soft.signal,
    requestCount: () => network.countOf(process),
    now: () => world.scheduler.elapsed,
    uptime: () => world.scheduler.elapsed,
    wallClock: () => world.scheduler.now,
  };
  programs.runImport(settings, deps).then(
    (summary) => {
      if (process.isAlive) value.summary = summary;
      started.isDone = true;
    },
    (error: unknown) => {
      // What a program that was killed still throws is seen by nobody.
      if (process.isAlive) value.error = error;
      started.isDone = true;
    },
  );
}

/** The same from the command line on. */
function startCommand(
  settings: ImportSettings,
  how: CommandTraits,
  started: Started,
  { programs, world, user, apiKey }: Surroundings,
): void {
  const { value } = started;
  const { process } = value;
  let ended: Pick<Ended, 'summary' | 'error'> = { summary: undefined, error: undefined };
  process.runImport = async (parsed, deps) => {
    checkParsed(parsed, settings, how);
    try {
      const summary = await programs.runImport(parsed, {
        ...deps,
        onEvent: (event) => {
          value.events.push(event);
          deps.onEvent(event);
        },
        uptime: () => world.scheduler.elapsed,
        wallClock: () => world.scheduler.now,
      });
      ended = { summary, error: undefined };
      return summary;
    } catch (error) {
      ended = { summary: undefined, error };
      throw error;
    }
  };
  const { io, interrupt } = ioOf(world, { baseUrl: settings.baseUrl, apiKey }, how, value);
  started.press = interrupt;
  const { runCommand } = programs;
  const run = async () => {
    const failed = how.hasConfig && (await storeAddress(runCommand, settings.baseUrl, how, io));
    return failed || runCommand(argvOf(settings, user.maxWaitMs, how), io);
  };
  run().then((exitCode) => {
    if (process.isAlive) Object.assign(value, ended);
    if (process.isAlive && !hasLostSummary(value)) value.exitCode = exitCode;
    started.isDone = true;
  });
}
