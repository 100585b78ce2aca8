#!/usr/bin/env node
import { createRequire } from 'node:module';
import { EXIT } from './admin/command.ts';
import { runProgram } from './admin/program.ts';
import { createLogger } from './logger.ts';
import { backupDatabase, migrateDatabase, openStore } from './open-store.ts';
import { publicUrlOf, type Settings } from './settings.ts';
import { startServer } from './start-server.ts';

/** How long the last log lines may take to be read once everything is stopped. */
const LOG_FLUSH_MS = 2_000;

/** A reader that went away, such as `| head`, is no reason to stop serving. */
process.stdout.on('error', () => undefined);

const packageJson: { version: string } = createRequire(import.meta.url)('../package.json');

process.exitCode = await runProgram(process.argv.slice(2), packageJson.version, {
  env: process.env,
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  now: Date.now,
  openStore: (settings) => openStore({ ...settings, publicUrl: publicUrlOf(settings) }, sayWait),
  migrate: (settings) => migrateDatabase(settings, sayWait),
  backup: backupDatabase,
  start,
});

function sayWait(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** Serves until the first SIGTERM or SIGINT has been carried out; a second one ends the process at once. */
async function start(settings: Settings, { dev }: { dev: boolean }): Promise<void> {
  const signal = firstSignal();
  const server = await startServer(settings, { dev, logger: createLogger(settings.logLevel) });
  if (server.devKey !== undefined) process.stdout.write(`api key: ${server.devKey}\n`);
  process.stdout.write(`listening on ${server.url}\n`);
  await signal;
  await server.stop();
  // What is still to be written to the log ends here if nobody reads it.
  setTimeout(() => process.exit(), LOG_FLUSH_MS).unref();
}

function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    let received = 0;
    const onSignal = () => {
      received += 1;
      if (received > 1) process.exit(EXIT.failed);
      resolve();
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}
