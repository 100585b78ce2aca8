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
