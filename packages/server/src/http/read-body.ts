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
import type { BodyRoom, Reservation } from './body-room.ts';
import type { CallerEnv } from './context.ts';
import { JsonStructure, parseJson } from './json-structure.ts';

/** `application/json`, with parameters such as a charset. */
const JSON_TYPE = /^application\/json[\t ]*(?:;|$)/i;

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
  /** Which of them belong to the caller. A body that names no domain skips this step. */
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
    const arrived = await readAll(c, steps.maxBytes, reservation);
    return await steps.respond(await checkInTurn(arrived, reservation, steps));
  } finally {
    reservation.release();
  }
}

/** A body that names domains is parsed twice, so that what was parsed, several times its bytes, isn't kept during the look-up. */
async function checkInTurn<T>(
  arrived: ArrivedBody,
  reservation: Reservation,
  { domainIds, findDomains, check }: BodySteps<T>,
): Promise<T> {
  const first = await reservation.inTurn(async () => {
    const body = await parseBody(arrived);
    const ids = domainIds(body.value);
    return ids.length > 0 ? { ids } : { checked: await check(body, new Set()) };
  });
  if ('checked' in first) return first.checked;
  const ownedDomains = await findDomains(first.ids);
  return reservation.inTurn(async () => check(await parseBody(arrived), ownedDomains));
}

async function parseBody({ bytes, cuts }: ArrivedBody): Promise<JsonBody> {
  if (bytes.length === 0) throw invalidRequest('The request body is empty.');
  const value = await parseJson(bytes, cuts);
  if (!isObject(value)) throw invalidRequest('The request body must be a JSON object.');
  return { bytes, value };
}

async function readAll(
  c: Context<CallerEnv>,
  maxBytes: number,
  reservation: Reservation,
): Promise<ArrivedBody> {
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
  return body.arrived();
}

/**
 * A large body holds memory that others need. Reading stops when fewer than {@link MIN_BYTES_PER_SPAN} arrive in {@link SPAN_SECONDS}.
 * The whole body may take two minutes in any case.
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
    // Seconds are counted one by one, so that a time in which this process itself is busy doesn't count against the client.
    const timer = setInterval(() => {
      recent.push(bytes);
      bytes = 0;
      if (recent.length > SPAN_SECONDS) recent.shift();
      const arrived = recent.reduce((sum, ofSecond) => sum + ofSecond, 0);
      if (recent.length === SPAN_SECONDS && arrived < MIN_BYTES_PER_SPAN && body.isLarge) {
        stop(overloaded('The request body comes in too slowly; try again in 1 s.', true));
      }
    }, 1_000);
    timer.unref();
    stream.on('data', onData).on('end', onEnd).on('error', settle).on('close', onClose);
  });
}

/** All bytes of a body, and where its text can be cut (see {@link JsonStructure.cuts}). */
interface ArrivedBody {
  bytes: Uint8Array;
  cuts: readonly number[];
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

  arrived(): ArrivedBody {
    return { bytes: this.#buffer.subarray(0, this.#size), cuts: this.#structure.cuts };
  }

  #grow(needed: number): void {
    const wanted = Math.max(needed, 2 * this.#buffer.length, FIRST_BYTES);
    // The HTTP parser enforces a stated length, so no more room than that is needed.
    const length = Math.min(wanted, Number.isNaN(this.#stated) ? this.#maxBytes : this.#stated);
    // The system gives memory only to the part that was written to, so only the bytes that have arrived are reserved.
    const grown = Buffer.allocUnsafeSlow(length);
    grown.set(this.#buffer.subarray(0, this.#size));
    this.#buffer = grown;
  }
}
