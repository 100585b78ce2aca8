/** Sends requests and measures their times, in a process of its own. Started by `load/load.ts`. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { answerParent } from '../frame/processes.ts';
import { percentile } from '../frame/rounds.ts';
import type { LoadResult, LoadRun } from './load.ts';

/** Sends the request with this number, which was due at `dueAt`, and calls `onDone` after the response. */
type Send = (connection: Connection, number: number, dueAt: number, onDone: () => void) => void;

answerParent(async (run: LoadRun): Promise<LoadResult> => {
  const { promise: lost, reject } = Promise.withResolvers<never>();
  const connections = await Promise.all(
    Array.from({ length: run.connections }, () => Connection.open(run.url, reject)),
  );
  const buffers = run.requests.map((request) => Buffer.from(request));
  const start = Math.floor(Math.random() * buffers.length);
  const times: number[] = [];
  const send: Send = (connection, number, dueAt, onDone) => {
    const request = buffers[(start + number) % buffers.length];
    if (request === undefined) return reject(new Error('there are no requests to send'));
    connection.send(request, (status) => {
      times.push(performance.now() - dueAt);
      if (status === run.expect) onDone();
      else reject(new Error(`answered with ${status}, not with ${run.expect}`));
    });
  };
  const startedAt = performance.now();
  const { amount } = run;
  const finished =
    'count' in amount
      ? sendInTurn(connections, amount.count, send)
      : sendAtRate(connections, amount, send);
  try {
    await Promise.race([finished, lost]);
  } finally {
    for (const connection of connections) connection.close();
  }
  const ms = performance.now() - startedAt;
  const sorted = Float64Array.from(times).sort();
  return {
    requests: times.length,
    ms,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    max: percentile(sorted, 1),
  };
});

/** Each connection always has one request in flight. */
async function sendInTurn(
  connections: readonly Connection[],
  count: number,
  send: Send,
): Promise<void> {
  let begun = 0;
  await Promise.all(
    connections.map(
      (connection) =>
        new Promise<void>((resolve) => {
          const next = () => {
            if (begun === count) return resolve();
            begun += 1;
            send(connection, begun, performance.now(), next);
          };
          next();
        }),
    ),
  );
}

/**
 * Sends requests at a steady rate, also while earlier ones have no response yet. When every connection is busy, a request waits,
 * and its wait is measured. So a stall of the server shows in the times of all requests that it delays.
 */
async function sendAtRate(
  connections: readonly Connection[],
  { perSecond, forMs }: { perSecond: number; forMs: number },
  send: Send,
): Promise<void> {
  const total = Math.floor((perSecond * forMs) / 1000);
  const idle = [...connections];
  const due: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let released = 0;
  let done = 0;
  const dispatch = () => {
    while (due.length > 0) {
      const connection = idle.pop();
      if (connection === undefined) return;
      const dueAt = due.shift() ?? performance.now();
      send(connection, released, dueAt, () => {
        idle.push(connection);
        done += 1;
        if (done === total) resolve();
        else dispatch();
      });
    }
  };
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const wanted = Math.min(total, Math.floor(((now - startedAt) * perSecond) / 1000));
    for (; released < wanted; released += 1) due.push(now);
    if (released === total) clearInterval(timer);
    dispatch();
  }, 1);
  await promise;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const CHUNKED_END = Buffer.from('0\r\n\r\n');

/**
 * One kept-alive HTTP/1.1 connection that sends prepared bytes and of a response reads only the status and where it ends. A
 * real HTTP client costs more than the servers that it would measure.
 */
export class Connection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #onAnswer: ((status: number) => void) | undefined;

  private constructor(socket: Socket, onLost: (error: Error) => void) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', onLost);
    socket.on('close', () => {
      if (this.#onAnswer !== undefined) onLost(new Error('the server closed a connection in use'));
    });
  }

  /** @param onLost called when the connection breaks while a response is awaited */
  static async open(url: string, onLost: (error: Error) => void): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new Connection(socket, onLost);
  }

  /** Sends one request at a time; `onAnswer` receives the status after the whole response. */
  send(request: Buffer, onAnswer: (status: number) => void): void {
    this.#onAnswer = onAnswer;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    if (!isWhole(this.#received)) return;
    // "HTTP/1.1 201 ..."
    const status = Number(this.#received.toString('latin1', 9, 12));
    this.#received = Buffer.alloc(0);
    const onAnswer = this.#onAnswer;
    this.#onAnswer = undefined;
    onAnswer?.(status);
  }
}

/** Whether the bytes are a whole response (RFC 9112 section 6.3, as far as the servers here use it). */
function isWhole(bytes: Buffer): boolean {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return false;
  const head = bytes.toString('latin1', 0, headEnd);
  const bodyLength = bytes.length - headEnd - HEAD_END.length;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) return bodyLength >= Number(length);
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
    return (
      bodyLength >= CHUNKED_END.length && bytes.subarray(-CHUNKED_END.length).equals(CHUNKED_END)
    );
  }
  return true;
}
