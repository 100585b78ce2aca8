import { type Child, type Children, cpuTimeMs } from '../frame/processes.ts';
import type { Sample } from '../frame/rounds.ts';

/** What the load process is asked to do. */
export interface LoadRun {
  url: string;
  connections: number;
  /** Whole HTTP requests, see `rawRequest`; sent in turns, beginning anywhere. */
  requests: readonly string[];
  /** The status every answer must have: a server that refuses is fast, and its figures are worth nothing. */
  expect: number;
  /** So many requests, each connection sending the next as soon as it has its answer; or so many a second for a while. */
  amount: { count: number } | { perSecond: number; forMs: number };
}

/** How it went. Times are from the moment a request should go out to the last byte of its answer, in milliseconds. */
export interface LoadResult {
  requests: number;
  ms: number;
  p50: number;
  p99: number;
  max: number;
}

/** One HTTP/1.1 request, written out. */
export function rawRequest(
  method: 'GET' | 'POST',
  url: string,
  path: string,
  { headers = {}, body }: { headers?: Readonly<Record<string, string>>; body?: string } = {},
): string {
  const all = {
    Host: new URL(url).host,
    ...headers,
    ...(body !== undefined && {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
    }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

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
