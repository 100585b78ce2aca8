import type { Context } from 'hono';
import { tooManyAtOnce } from '../domain/problem.ts';
import type { CallerEnv } from './context.ts';

/** Responses up to this size are sent whole; larger ones in pieces, as fast as the client reads them. */
export const WHOLE_BYTES = 64 * 1024;

/** Large responses of an account that may wait for the one before them, and how long. */
const MAX_WAITING = 16;
const MAX_WAIT_MS = 5_000;

/** When a client doesn't read its response, other requests of the account wait for at most this time, in milliseconds. */
const MAX_TURN_MS = 60_000;

/**
 * Lets one large response of each account be sent at a time, so that a client that doesn't read them holds the memory of one.
 * The others wait a moment; 429 for those that are too many or wait too long.
 */
export class ResponseTurns {
  readonly #what: 'polls' | 'look-ups';
  readonly #lanes = new Map<string, { waiting: number; last: Promise<void> }>();

  constructor(what: 'polls' | 'look-ups') {
    this.#what = what;
  }

  /** Resolves, when it is this response's turn, to what ends the turn. */
  async begin(c: Context<CallerEnv>): Promise<() => void> {
    const { accountId } = c.get('caller');
    const lane = this.#lanes.get(accountId) ?? { waiting: 0, last: Promise.resolve() };
    if (lane.waiting >= MAX_WAITING) throw tooManyAtOnce(this.#what);
    this.#lanes.set(accountId, lane);
    const before = lane.last;
    let release = () => {};
    const ended = new Promise<void>((resolve) => {
      release = resolve;
    });
    const mine = before.then(() => ended);
    lane.last = mine;
    void mine.then(() => {
      if (lane.last === mine) this.#lanes.delete(accountId);
    });
    lane.waiting += 1;
    const isMyTurn = await isWithin(before, MAX_WAIT_MS);
    lane.waiting -= 1;
    if (!isMyTurn) {
      release();
      throw tooManyAtOnce(this.#what);
    }
    const timeout = setTimeout(release, MAX_TURN_MS).unref();
    return () => {
      clearTimeout(timeout);
      release();
    };
  }
}

function isWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const giveUp = setTimeout(() => resolve(false), ms);
    void promise.then(() => {
      clearTimeout(giveUp);
      resolve(true);
    });
  });
}

/** A stream that reads a piece when there is room for it, and calls `onEnd` once, whatever ends it. */
export function streamOf(
  pieces: Iterator<Uint8Array> | AsyncIterator<Uint8Array>,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await pieces.next();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        onEnd();
      },
      cancel: onEnd,
    },
    { highWaterMark: 0 },
  );
}
