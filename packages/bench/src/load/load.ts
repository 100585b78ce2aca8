import type { Child, Children } from '../frame/children.ts';
import { cpuTimeMs } from '../frame/cpu-time.ts';
import type { Sample } from '../frame/rounds.ts';
import type { LoadResult, LoadRun } from './load-run.ts';

/** Starts the process that sends requests. */
export function startLoad(children: Children): Promise<Child> {
  return children.start(new URL('./load-process.ts', import.meta.url));
}

/** Sends requests, and resolves to their times and to the processor time of the server with this process id. */
export async function measureLoad(load: Child, pid: number, run: LoadRun): Promise<Sample> {
  const cpuBefore = cpuTimeMs(pid);
  const { requests, ms, p50, p99, max } = await load.ask<LoadResult>(run);
  const cpuMs = cpuTimeMs(pid) - cpuBefore;
  return {
    'requests/s': (requests / ms) * 1000,
    'p50 ms': p50,
    'p99 ms': p99,
    'max ms': max,
    'CPU µs/request': (cpuMs / requests) * 1000,
  };
}
