import { setImmediate as nextTurn } from 'node:timers/promises';
import { HEADERS } from '@shortlink/sdk/wire';
import type { Context } from 'hono';
import { notFound, tooManyPolls } from '../domain/problem.ts';
import type { Store, StoredJob } from '../store/store.ts';
import { StoreError } from '../store/store-error.ts';
import type { CallerEnv, RouteDeps } from './context.ts';
import { respond, setHeader } from './respond.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Responses up to this size are sent whole; larger ones in pieces, as fast as the client reads them. */
const WHOLE_BYTES = 64 * 1024;

/** Large responses of an account that may wait for the one before them, and how long. */
const MAX_WAITING_POLLS = 16;
const MAX_POLL_WAIT_MS = 5_000;

/** When a client doesn't read its response, other polls of the account wait for at most this time, in milliseconds. */
const MAX_POLL_MS = 60_000;

/**
 * Lets one large response of each account be sent at a time, so that a client that doesn't read its results holds the memory of one.
 * The others wait a moment; 429 for those that are too many or wait too long.
 */
class PollTurns {
  readonly #lanes = new Map<string, { waiting: number; last: Promise<void> }>();

  /** Resolves, when it is this response's turn, to what ends the turn. */
  async begin(accountId: string): Promise<() => void> {
    const lane = this.#lanes.get(accountId) ?? { waiting: 0, last: Promise.resolve() };
    if (lane.waiting >= MAX_WAITING_POLLS) throw tooManyPolls();
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
    const isMyTurn = await isWithin(before, MAX_POLL_WAIT_MS);
    lane.waiting -= 1;
    if (!isMyTurn) {
      release();
      throw tooManyPolls();
    }
    const timeout = setTimeout(release, MAX_POLL_MS).unref();
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

/** `GET /api/v1/jobs/<job_id>`. Another account's job is as unknown as one that never was. */
export function getJob(deps: Pick<RouteDeps, 'store' | 'now' | 'jobPace' | 'pendingJobs'>) {
  const turns = new PollTurns();
  return async (c: Context<CallerEnv, '/api/v1/jobs/:id'>): Promise<Response> => {
    const id = c.req.param('id');
    const job = UUID.test(id)
      ? await deps.store.findJob(c.get('caller').accountId, id.toLowerCase())
      : undefined;
    if (job === undefined) throw notFound('Job');
    const { results, createdAt, ...shown } = job;
    if (job.status === 'processing') {
      const ageMs = deps.now() - createdAt;
      const seconds = deps.jobPace.secondsUntilPoll({
        ...job,
        ageMs,
        pendingJobs: deps.pendingJobs(),
      });
      setHeader(c, HEADERS.retryAfter, String(seconds));
    }
    const opening = Buffer.from(`${JSON.stringify(shown).slice(0, -1)},"results":[`);
    const bytes = opening.length + results.bytes + CLOSING.length;
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(bytes) };
    if (c.req.method === 'HEAD') return respond(c, null, 200, headers);
    const pieces = piecesOf(deps.store, job, opening);
    if (bytes <= WHOLE_BYTES) {
      const whole: Uint8Array[] = [];
      for await (const piece of pieces) whole.push(piece);
      return respond(c, Buffer.concat(whole), 200, headers);
    }
    // A poll that is rejected here counts nowhere, like one that a rate limit rejects.
    c.set('countsNowhere', true);
    const endTurn = await turns.begin(c.get('caller').accountId);
    c.set('countsNowhere', false);
    return respond(c, streamOf(pieces, endTurn), 200, headers);
  };
}

const COMMA = Buffer.from(',');
const CLOSING = Buffer.from(']}');

/** The body of the response. The results are JSON already, so they are only passed on. */
async function* piecesOf(
  store: Pick<Store, 'readJobResults'>,
  { id, results }: StoredJob,
  opening: Uint8Array,
): AsyncGenerator<Uint8Array> {
  yield opening;
  for (let chunk = 0; chunk < results.chunks; chunk += 1) {
    const bytes = await store.readJobResults(id, chunk);
    // `Content-Length` was sent already, so the connection has to be closed.
    if (bytes === undefined) throw new StoreError('internal', `Job ${id} lost chunk ${chunk}.`);
    if (chunk > 0) yield COMMA;
    yield bytes;
    // A database in memory or on this disk responds at once, and redirects must not wait for all chunks.
    await nextTurn();
  }
  yield CLOSING;
}

/** A stream that reads a piece when there is room for it, and calls `onEnd` once, whatever ends it. */
function streamOf(
  pieces: AsyncGenerator<Uint8Array>,
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
