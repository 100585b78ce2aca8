import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Longest time of one command. */
const COMMAND_LIMIT_MS = 10 * 60_000;

const running = new Set<ChildProcess>();

/** Starts a program in a process group of its own, so that it ends with everything that it has started. */
export function start(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(file, [...args], { ...options, detached: true });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Runs a program to its end, and resolves to its standard output. Rejects with everything it printed when it fails. */
export async function run(
  file: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<string> {
  const child = start(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => stop(child), COMMAND_LIMIT_MS);
  let stdout = '';
  let all = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    all += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    all += text;
  });
  const [code, signal] = await once(child, 'close').finally(() => clearTimeout(timer));
  if (code !== 0)
    throw new Error(`${file} ${args.join(' ')} ended with ${code ?? signal}:\n${all}`);
  return stdout;
}

/** Ends a program and everything that it has started. */
export function stop(child: ChildProcess): void {
  if (child.pid === undefined || !running.has(child)) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Ends everything that still runs. */
export function stopAll(): void {
  for (const child of running) stop(child);
}
