import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cleanEnvironment } from '../../src/run-program.ts';

/** Settings under which runtimes send no telemetry, look for no updates, and print no colours. */
const SILENCE = { DENO_NO_UPDATE_CHECK: '1', DO_NOT_TRACK: '1', NO_COLOR: '1' };

/** Runs a program to its end and returns what it printed, on both channels. Rejects unless it ends with 0. */
export async function runProcess(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'signal' | 'cwd'> = {},
): Promise<string> {
  const child = spawn(command, args, {
    ...options,
    env: { ...cleanEnvironment(), ...SILENCE },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collectOutput(child);
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ended with ${code ?? signal}:\n${output()}`);
  return output();
}

/** What a process prints, from now on. */
export function collectOutput(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return () => output;
}
