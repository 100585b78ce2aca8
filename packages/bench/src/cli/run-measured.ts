import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What a whole program took, from its start to its end. */
export interface ProgramUsage {
  ms: number;
  /** Processor time of all threads. */
  cpuMs: number;
  /** Largest resident memory. */
  peakMb: number;
}

/**
 * Loaded before the program: writes what it used when it ends. Plain JavaScript in a URL, since loading TypeScript would cost
 * the measured program 50 MB. The memory is not `maxRSS`, which begins with that of the benchmark that starts the program.
 */
const REPORT = `data:text/javascript,${encodeURIComponent(`
  import { readFileSync, writeFileSync } from 'node:fs';
  process.once('exit', () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    const [, peak] = /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
    const usage = { peakMb: peak / 1024, cpuMs: (userCPUTime + systemCPUTime) / 1000 };
    writeFileSync(process.env.BENCH_USAGE_FILE, JSON.stringify(usage));
  });
`)}`;

/** Longest run of one program. */
const LIMIT_MS = 900_000;

/** Runs a Node program to its end. @throws Error when it fails, with what it printed */
export async function runMeasured(
  program: URL | string,
  args: readonly string[],
  { directory, env }: { directory: string; env?: Record<string, string> | undefined },
): Promise<ProgramUsage> {
  const usageFile = join(directory, 'usage.json');
  const path = program instanceof URL ? program.pathname : program;
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--import', REPORT, path, ...args], {
    cwd: directory,
    env: { ...process.env, ...env, BENCH_USAGE_FILE: usageFile },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LIMIT_MS,
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-4_000);
  });
  const [status] = await once(child, 'close');
  const ms = performance.now() - startedAt;
  if (status !== 0) throw new Error(`${path} ended with ${status}: ${words}`);
  const usage = JSON.parse(await readFile(usageFile, 'utf8'));
  return { ms, cpuMs: usage.cpuMs, peakMb: usage.peakMb };
}
