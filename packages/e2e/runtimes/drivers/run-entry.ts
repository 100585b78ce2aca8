import { fileURLToPath } from 'node:url';
import { runProcess } from './run-process.ts';
import type { RunOutput } from './runtime.ts';

/** The suite runs in this package's folder, from where each runtime resolves `@shortlink/sdk` as it does for users. */
const PACKAGE_FOLDER = fileURLToPath(new URL('../..', import.meta.url));
const entry = (name: string) => fileURLToPath(new URL(`../entries/${name}.ts`, import.meta.url));

export interface CommandLine {
  /** The runtime's program as a package and a path in it, such as `node22/bin/node`. A script that starts the program would not do: killing the script leaves the program running. */
  program: string;
  /** Arguments before the entry's path. @default none */
  args?: readonly string[] | undefined;
}

/** Runs the suite in a runtime that has a command line and prints its version on `--version`. */
export async function runEntry(
  { program, args = [] }: CommandLine,
  stageUrl: string,
  signal: AbortSignal,
): Promise<RunOutput> {
  const options = { cwd: PACKAGE_FOLDER, signal };
  const path = fileURLToPath(import.meta.resolve(program));
  const version = /\d+\.\d+\.\d+/.exec(await runProcess(path, ['--version'], options))?.[0];
  const output = await runProcess(path, [...args, entry('process'), stageUrl], options);
  return { version: version ?? 'unknown', output };
}

/** Runs a program that starts the server for tests, as a user's own test does. */
export function runTestServer(
  { program, args = [] }: CommandLine,
  signal: AbortSignal,
): Promise<string> {
  const path = fileURLToPath(import.meta.resolve(program));
  return runProcess(path, [...args, entry('test-server')], { cwd: PACKAGE_FOLDER, signal });
}
