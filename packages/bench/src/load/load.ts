import { type Child, type Children, cpuTimeMs } from '../frame/processes.ts';
import type { Sample } from '../frame/rounds.ts';

/** What the load process is asked to do. */
export interface LoadRun {
  url: string;
  connections: number;
  /** Whole HTTP requests, see `rawRequest`. They are sent in turns, beginning at a random one. */
  requests: readonly string[];
  /** The status that every response must have: errors are fast, so their figures are worth nothing. */
  expect: number;
  /** `count` requests as fast as the responses arrive, or `perSecond` requests a second for `forMs`. */
  amount: { count: number } | { perSecond: number; forMs: number };
}

/** Times are from the moment at which a request is due to the last byte of its response, in milliseconds. */
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
