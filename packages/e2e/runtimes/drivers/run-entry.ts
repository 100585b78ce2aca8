import { fileURLToPath } from 'node:url';
import { runProcess } from './run-process.ts';
import type { RunOutput } from './runtime.ts';

/** Run in the package's folder, from where each runtime resolves `@shortlink/sdk` as it does for its users. */
const PACKAGE_FOLDER = fileURLToPath(new URL('../..', import.meta.url));
const ENTRY = fileURLToPath(new URL('../entries/process.ts', import.meta.url));

export interface CommandLine {
  /** Package and path in it of the runtime's program, such as `node22/bin/node`. Not a script that starts it: that would outlive a kill. */
  program: string;
  /** Before the entry's path. @default none */
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
  const output = await runProcess(path, [...args, ENTRY, stageUrl], options);
  return { version: version ?? 'unknown', output };
}
