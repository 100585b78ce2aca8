import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Requests that a client may send ahead on one connection: each takes memory until the client has read the responses before it. */
const MAX_PIPELINED = 16;

/** While the server stops, a connection that was used within this time may be about to send another request. */
const IN_USE_MS = 1_000;

interface Connection {
  readonly socket: Socket;
  /** Responses that aren't sent to their end, in the order of their requests. */
  readonly pending: ServerResponse[];
  /** Bytes read when the last response ended: more than these are the beginning of another request. */
  bytesRead: number;
  usedAt: number;
}

/** The open connections of a server: what each has in flight, and how they end when the server stops. */
export class Connections {
  readonly #open = new Map<Duplex, Connection>();
  #isDraining = false;

  constructor(server: Server) {
    server.on('connection', (socket) => {
      const pending: ServerResponse[] = [];
      this.#open.set(socket, { socket, pending, bytesRead: 0, usedAt: performance.now() });
      socket.once('close', () => {
        this.#open.delete(socket);
        // Node emits `close` only for the response that was being sent. The others would keep their data in memory.
        for (const response of [...pending]) if (response.socket === null) response.emit('close');
      });
    });
  }

  /** Registers a request. Returns `false` when its connection has too many requests in flight; then the connection is closed. */
  begin({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#open.get(socket);
    if (connection === undefined || socket.destroyed) return false;
    const { pending } = connection;
    if (pending.length >= MAX_PIPELINED) {
      stopParsing(socket);
      socket.destroy();
      return false;
    }
    pending.push(response);
    if (this.#isDraining) closeAfterLast(pending);
    response.on('close', () => {
      pending.splice(pending.indexOf(response), 1);
      connection.bytesRead = socket.bytesRead;
      connection.usedAt = performance.now();
    });
    return true;
  }

  /** Whether bytes written to the socket now would be read as the response to a request that has none yet. */
  canRespond(socket: Duplex): boolean {
    const [first, second] = this.#open.get(socket)?.pending ?? [];
    return socket.writable && second === undefined && first?.headersSent !== true;
  }

  /** From now on the last response of each connection says `Connection: close`, so that no client loses a request that it is about to send. */
  drain(): void {
    this.#isDraining = true;
    for (const { pending } of this.#open.values()) closeAfterLast(pending);
  }

  closeUnused(): void {
    const now = performance.now();
    for (const { socket, pending, bytesRead, usedAt } of this.#open.values()) {
      const isIdle = pending.length === 0 && socket.bytesRead === bytesRead;
      if (isIdle && now - usedAt >= IN_USE_MS) socket.end();
    }
  }

  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }
}

/** The response that says `Connection: close` ends the connection: those behind it would get lost. */
function closeAfterLast(pending: readonly ServerResponse[]): void {
  const last = pending.at(-1);
  for (const response of pending) {
    if (!response.headersSent) response.shouldKeepAlive = response !== last;
  }
}

/** Drops what node has read ahead, up to 1,500 requests a connection. The parser is undocumented: without it, only their memory is lost. */
function stopParsing(socket: Socket & { parser?: { onIncoming: () => number } | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => 0;
}
