import type { Readable } from 'node:stream';
import type { Context } from 'hono';
import {
  invalidRequest,
  overloaded,
  Problem,
  payloadTooLarge,
  unsupportedContentEncoding,
  unsupportedMediaType,
} from '../domain/problem.ts';
import { isObject } from '../domain/validate-link.ts';
import type { CallerEnv } from './context.ts';
import { JsonStructure } from './json-structure.ts';

/** `application/json`, with parameters such as a charset. */
const JSON_TYPE = /^application\/json[\t ]*(?:;|$)/i;

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** A buffer begins at this size and doubles from there, whatever length the client states: stating a length costs nothing. */
const FIRST_BYTES = 64 * 1024;

/** Pieces that a body may come in. Each costs about a microsecond, also if it is a single byte. */
const MAX_PIECES = 1_000_000;

/** A request body: its bytes, and the object they spell. */
export interface JsonBody {
  bytes: Uint8Array;
  value: Record<string, unknown>;
}

export interface BodySteps<T> {
  /** 413 above. */
  maxBytes: number;
  /** Ids of custom domains that the body names. */
  domainIds: (value: JsonBody['value']) => readonly string[];
  /** Which of them belong to the caller. Other bodies don't wait for this step. */
  findDomains: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Reads what is needed from the body. Large bodies take this step one after the other, so it must not wait for a database. */
  check: (body: JsonBody, ownedDomains: ReadonlySet<string>) => Promise<T>;
  /** Makes the response; the body itself is forgotten by then. */
  respond: (checked: T) => Promise<Response>;
}

/**
 * Reads a JSON object from the request, and responds to it. 415 for another content type or a compressed body, 413 for a body that
 * is too large (also when it comes in chunks without a length; reading stops there), 400 for anything that is no JSON object in
 * UTF-8 (RFC 8259) or that can't be a request by its structure, 503 while large bodies of other requests fill the memory for them.
 */
export async function withJsonBody<T>(
  c: Context<CallerEnv>,
  room: BodyRoom,
  steps: BodySteps<T>,
): Promise<Response> {
  if (!JSON_TYPE.test(c.req.header('Content-Type') ?? '')) throw unsupportedMediaType();
  const encoding = c.req.header('Content-Encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw unsupportedContentEncoding();
  }
  const reservation = room.reserve(c.get('caller').accountId);
  try {
    const bytes = await readBytes(c, steps.maxBytes, reservation);
    return await steps.respond(await checkInTurn(bytes, reservation, steps));
  } finally {
    reservation.release();
  }
}

/** A body that names domains is parsed twice, so that what was parsed, several times its bytes, isn't kept during the look-up. */
async function checkInTurn<T>(
  bytes: Uint8Array,
  reservation: Reservation,
  { domainIds, findDomains, check }: BodySteps<T>,
): Promise<T> {
  const first = await reservation.inTurn(async () => {
    const body = parseBody(bytes);
    const ids = domainIds(body.value);
    return ids.length > 0 ? { ids } : { checked: await check(body, new Set()) };
  });
  if ('checked' in first) return first.checked;
  const ownedDomains = await findDomains(first.ids);
  return reservation.inTurn(() => check(parseBody(bytes), ownedDomains));
}

function parseBody(bytes: Uint8Array): JsonBody {
  if (bytes.length === 0) throw invalidRequest('The request body is empty.');
  const value = parseJson(bytes);
  if (!isObject(value)) throw invalidRequest('The request body must be a JSON object.');
  return { bytes, value };
}

async function readBytes(
  c: Context<CallerEnv>,
  maxBytes: number,
  reservation: Reservation,
): Promise<Uint8Array> {
  const stated = Number(c.req.header('Content-Length') ?? Number.NaN);
  if (stated > maxBytes) throw payloadTooLarge(maxBytes);
  const body = new GrowingBody(maxBytes, stated, reservation);
  try {
    const { body: stream } = c.env ?? {};
    if (stream === undefined) for await (const piece of c.req.raw.body ?? []) body.add(piece);
    else await readStream(stream, body);
  } catch (error) {
    if (error instanceof Problem) throw error;
    // The client closed the connection in the middle of the body: nobody reads this response, and it is no fault of the service.
    throw invalidRequest('The request body could not be read.');
  }
  return body.bytes();
}

/**
 * A large body, which holds room that others need, is cut off when less than this many bytes of it come in so many seconds. All of it
 * may take two minutes in any case.
 */
const MIN_BYTES_PER_SPAN = 128 * 1024;
const SPAN_SECONDS = 5;

/** Reads node's own stream: a web stream on top of it costs ten times as much for each piece. */
function readStream(stream: Readable, body: GrowingBody): Promise<void> {
  if (stream.destroyed) return Promise.reject(new Error('closed before it was read'));
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown) => {
      clearInterval(timer);
      stream.off('data', onData).off('end', onEnd).off('error', settle).off('close', onClose);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onEnd = () => settle();
    const onClose = () => settle(new Error('closed in the middle'));
    const stop = (error: unknown) => {
      // The rest waits in the socket until the response is sent.
      stream.pause();
      settle(error);
    };
    const recent: number[] = [];
    let bytes = 0;
    const onData = (piece: Uint8Array) => {
      bytes += piece.length;
      try {
        body.add(piece);
      } catch (error) {
        stop(error);
      }
    };
    // Seconds are counted one by one, so that a moment in which this process itself is busy is not held against the client.
    const timer = setInterval(() => {
      recent.push(bytes);
      bytes = 0;
      if (recent.length > SPAN_SECONDS) recent.shift();
      const arrived = recent.reduce((sum, ofSecond) => sum + ofSecond, 0);
      if (recent.length === SPAN_SECONDS && arrived < MIN_BYTES_PER_SPAN && body.isLarge) {
        stop(overloaded('The request body comes in too slowly; try again in 1 s.'));
      }
    }, 1_000);
    timer.unref();
    stream.on('data', onData).on('end', onEnd).on('error', settle).on('close', onClose);
  });
}

/** The bytes that arrived, in one buffer that doubles, so that a million small pieces take no more memory than one large one. */
class GrowingBody {
  readonly #maxBytes: number;
  readonly #stated: number;
  readonly #reservation: Reservation;
  readonly #structure = new JsonStructure();
  #buffer: Uint8Array = new Uint8Array(0);
  #size = 0;
  #pieces = 0;

  /** @param stated the length that the client stated; `NaN` without one */
  constructor(maxBytes: number, stated: number, reservation: Reservation) {
    this.#maxBytes = maxBytes;
    this.#stated = stated;
    this.#reservation = reservation;
  }

  add(piece: Uint8Array): void {
    const size = this.#size + piece.length;
    if (size > this.#maxBytes) throw payloadTooLarge(this.#maxBytes);
    this.#pieces += 1;
    if (this.#pieces > MAX_PIECES) {
      throw invalidRequest(`The request body comes in more than ${MAX_PIECES} pieces.`);
    }
    this.#structure.add(piece);
    this.#reservation.growTo(size);
    if (this.#size === 0 && size === this.#stated) {
      this.#buffer = piece;
    } else {
      if (size > this.#buffer.length) this.#grow(size);
      this.#buffer.set(piece, this.#size);
    }
    this.#size = size;
  }

  /** Whether it holds some of the room for large bodies. */
  get isLarge(): boolean {
    return this.#reservation.isLarge;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size);
  }

  #grow(needed: number): void {
    const wanted = Math.max(needed, 2 * this.#buffer.length, FIRST_BYTES);
    // The HTTP parser enforces a stated length, so no more room than that is needed.
    const length = Math.min(wanted, Number.isNaN(this.#stated) ? this.#maxBytes : this.#stated);
    // The part that nothing was written to takes no memory, so only what has arrived is counted.
    const grown = Buffer.allocUnsafeSlow(length);
    grown.set(this.#buffer.subarray(0, this.#size));
    this.#buffer = grown;
  }
}

function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = UTF_8.decode(bytes);
  } catch {
    throw invalidRequest('The request body is not valid UTF-8.');
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold private URLs.
    throw invalidRequest('The request body is not valid JSON.');
  }
}

/** Bodies up to this size need no reservation: what many of them take is bounded by the number of connections. */
const SMALL_BYTES = 256 * 1024;

/** Bytes of larger bodies that all requests together may hold: eight of the largest, or sixty batches of 10,000 common links. */
const MAX_BYTES = 128 * 1024 * 1024;

/** Bytes of larger bodies that one account may hold: one of the largest, so that a few that send slowly leave room for the others. */
const MAX_BYTES_PER_ACCOUNT = MAX_BYTES / 8;

/** Room is taken in steps of this size. */
const STEP_BYTES = 256 * 1024;

/**
 * The memory for request bodies. A parsed body takes several times its bytes, so large ones are parsed and checked one after the
 * other; and those that don't fit are rejected with 503 and `Retry-After`, before they take memory.
 */
export class BodyRoom {
  #bytes = 0;
  readonly #byAccount = new Map<string, number>();
  #lastTurn: Promise<unknown> = Promise.resolve();

  reserve(accountId: string): Reservation {
    return new Reservation(this, accountId);
  }

  /** @throws a 503 when there is no room for this much more */
  take(accountId: string, bytes: number): void {
    const used = this.#byAccount.get(accountId) ?? 0;
    if (this.#bytes + bytes > MAX_BYTES || used + bytes > MAX_BYTES_PER_ACCOUNT) {
      throw overloaded('The service is busy with other large requests; try again in 1 s.');
    }
    this.#bytes += bytes;
    this.#byAccount.set(accountId, used + bytes);
  }

  free(accountId: string, bytes: number): void {
    this.#bytes -= bytes;
    const left = (this.#byAccount.get(accountId) ?? 0) - bytes;
    if (left > 0) this.#byAccount.set(accountId, left);
    else this.#byAccount.delete(accountId);
  }

  /** Runs `step` when those before it have ended. */
  inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(step);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }
}

/** What one request holds of the room. */
class Reservation {
  readonly #room: BodyRoom;
  readonly #accountId: string;
  #bytes = 0;

  constructor(room: BodyRoom, accountId: string) {
    this.#room = room;
    this.#accountId = accountId;
  }

  get isLarge(): boolean {
    return this.#bytes > 0;
  }

  growTo(bytes: number): void {
    if (bytes <= SMALL_BYTES || bytes <= this.#bytes) return;
    const rounded = Math.ceil(bytes / STEP_BYTES) * STEP_BYTES;
    try {
      this.#room.take(this.#accountId, rounded - this.#bytes);
    } catch (error) {
      // At once, so that of bodies that grow side by side one is refused and not all.
      this.release();
      throw error;
    }
    this.#bytes = rounded;
  }

  /** Runs `step`: at once for a small body, in its turn for a large one. */
  inTurn<T>(step: () => Promise<T>): Promise<T> {
    return this.isLarge ? this.#room.inTurn(step) : step();
  }

  release(): void {
    if (this.#bytes === 0) return;
    this.#room.free(this.#accountId, this.#bytes);
    this.#bytes = 0;
  }
}
