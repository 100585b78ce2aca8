import cluster from 'node:cluster';
import { createRequire } from 'node:module';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { EXIT } from './admin/command.ts';
import { runProgram } from './admin/program.ts';
import { devScreen, newKeyCommand, readableLogLine } from './dev-screen.ts';
import { databaseTools } from './open-store.ts';
import { databaseName } from './setting-values.ts';
import type { Settings } from './settings.ts';

/** Signals that end the server: of a service manager, of Ctrl-C, and of a terminal that is closed. */
const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Signals within this time, in milliseconds, are one: GNU `timeout` signals its child and then its whole group, which has the child in it. */
const ONE_SIGNAL_MS = 1_000;

/** How long the last log lines may take to be read once everything is stopped. */
const LOG_FLUSH_MS = 2_000;

const { stdin, stdout, stderr, env } = process;

/** A reader that went away, such as `| head`, is no reason to stop serving. */
stdout.on('error', () => undefined);

const packageJson: { version: string } = createRequire(import.meta.url)('../package.json');

const columns = stdout.isTTY ? stdout.columns || 80 : undefined;

const err = (line: string) => void stderr.write(`${line}\n`);

process.exitCode = await runProgram(process.argv.slice(2), packageJson.version, {
  env,
  stdin,
  write: (text) =>
    new Promise((resolve, reject) => {
      stdout.write(text, (error) => (error ? reject(error) : resolve()));
    }),
  err,
  columns,
  now: Date.now,
  databaseTools: (settings) => databaseTools(settings, err),
  interruptible,
  start,
});

async function interruptible<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const onSignal = (name: NodeJS.Signals) => interruption.abort(name);
  // A second signal of the same name ends the process at once.
  for (const name of ENDING) process.once(name, onSignal);
  try {
    return await act(interruption.signal);
  } finally {
    for (const name of ENDING) process.off(name, onSignal);
    if (interruption.signal.aborted) process.kill(process.pid, interruption.signal.reason);
  }
}

/** Serves until a signal; a second one, a moment later, ends the process at once, and so does the first while the server starts. */
async function start(settings: Settings, { dev }: { dev: boolean }): Promise<void> {
  let isServing = false;
  let signalAt: number | undefined;
  const ending = Promise.withResolvers<void>();
  for (const name of ENDING) process.on(name, onSignal);
  // Once many connections have been opened, V8 takes the objects of requests for long-lived ones as well. They are then freed only by a
  // full garbage collection, and each of the small ones before it copies megabytes of them: pauses of 20 ms and more.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // These modules are two thirds of all code: the other commands start three times as fast without them.
  const { startServer } = await import('./start-server.ts');
  const { runWorker, startWorkers } = await import('./workers.ts');
  const { boundedWriter, createLogger } = await import('./logger.ts');
  const { logLevel, database } = settings;
  const write = boundedWriter(stderr);
  const writeLog =
    dev && stderr.isTTY ? (line: string) => write(readableLogLine(line, stderr)) : write;
  if (cluster.isWorker) return runWorker(settings, { env, logger: createLogger(logLevel, write) });
  const logger = createLogger(logLevel, writeLog);
  const server =
    settings.workers > 1
      ? await startWorkers(settings, { dev, logger, writeLog })
      : await startServer(settings, { dev, logger });
  const { url, publicUrl, devKey, devAccountId } = server;
  if (dev && stdout.isTTY) {
    stdout.write(`${devScreen(server, { version: packageJson.version, database })}\n`);
  } else {
    if (devKey !== undefined) stdout.write(`api key: ${devKey}\n`);
    else if (dev) {
      logger.info(
        `the database has accounts, so --dev created none; get a new key with: ${newKeyCommand(devAccountId, database)}`,
      );
    }
    stdout.write(`listening on ${url}\n`);
    logger.info({ url, public_url: publicUrl, database: databaseName(database) }, 'serving');
  }
  isServing = true;
  await ending.promise;
  await server.stop();
  // What is still to be written to the log ends here if nobody reads it.
  setTimeout(() => process.exit(), LOG_FLUSH_MS).unref();

  function onSignal(): void {
    // Signals of a terminal and of some service managers reach workers too, which the first process stops.
    if (cluster.isWorker) return;
    signalAt ??= performance.now();
    if (performance.now() - signalAt >= ONE_SIGNAL_MS) process.exit(EXIT.failed);
    // Nothing was begun for anybody: a service manager would take another code for a crash.
    if (!isServing) process.exit(EXIT.ok);
    ending.resolve();
  }
}
