import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const CHUNKED_END = Buffer.from('0\r\n\r\n');

/**
 * One kept-alive HTTP/1.1 connection that sends prepared bytes and reads no more of an answer than where it ends. A real
 * HTTP client costs more than the servers it would measure.
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

  /** Sends one request; `onAnswer` gets the status once the whole answer is here. One at a time. */
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

/** Whether the bytes are a whole answer (RFC 9112 section 6.3, as far as the servers here use it). */
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
