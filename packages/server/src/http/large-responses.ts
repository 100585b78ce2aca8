import { invalidRequest, overloaded, tooManyAtOnce } from '../domain/problem.ts';
import { gateForEach } from '../gate.ts';
import type { Caller } from '../store/store.ts';
import { type HeaderContext, respond } from './context.ts';

/** A client that takes no piece of its response for this long is cut off, in milliseconds. */
const MAX_SILENCE_MS = 60_000;

const NO_MEMORY = 'Too many large responses are being made and read just now; try again in 1 s.';

export interface LargeBody {
  bytes: number;
  pieces: Iterator<Uint8Array> | AsyncIterator<Uint8Array>;
}

/** Makes a body. It takes memory for what it has made so far, which throws a 503 when there is none left. */
export type MakeBody = (take: (bytes: number) => void) => Promise<LargeBody>;

/** Sends large bodies in pieces, as clients read them. An account has `slots` of them at a time: a further one waits up to 5 s, and one too many gets 429. Beyond `maxBytes` in memory, one gets 503. */
export function largeResponses(
  what: 'polls' | 'look-ups',
  slots: number,
  maxBytes = Number.POSITIVE_INFINITY,
) {
  const busy = () => tooManyAtOnce(what);
  const inGate = gateForEach({ slots, maxWaiting: 16, maxWaitMs: 5_000, busy });
  let inMemory = 0;
  return (c: HeaderContext & { var: { caller: Caller } }, make: MakeBody): Promise<Response> =>
    new Promise((resolve, reject) => {
      const makeAndSend = async () => {
        let taken = 0;
        const take = (bytes: number) => {
          if (c.env?.incoming?.socket.destroyed) throw invalidRequest('The client has gone.');
          if (inMemory + bytes > maxBytes) throw overloaded(NO_MEMORY);
          inMemory += bytes;
          taken += bytes;
        };
        try {
          const { bytes, pieces } = await make(take);
          take(bytes - taken);
          const headers = { 'Content-Type': 'application/json', 'Content-Length': String(bytes) };
          await new Promise<void>((onEnd) => {
            resolve(respond(c, streamOf(pieces, onEnd), 200, headers));
          });
        } finally {
          inMemory -= taken;
        }
      };
      inGate(c.var.caller.accountId, makeAndSend).catch(reject);
    });
}

/** A stream that reads a piece when the client has taken the one before, and calls `onEnd`, whatever ends it. */
function streamOf(pieces: LargeBody['pieces'], onEnd: () => void): ReadableStream<Uint8Array> {
  let silence: NodeJS.Timeout | undefined;
  const end = () => {
    clearTimeout(silence);
    onEnd();
  };
  const waitForClient = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    clearTimeout(silence);
    silence = setTimeout(() => {
      controller.error(new Error('The client does not read the response.'));
      onEnd();
    }, MAX_SILENCE_MS).unref();
  };
  return new ReadableStream(
    {
      start: waitForClient,
      pull: async (controller) => {
        waitForClient(controller);
        try {
          const { done, value } = await pieces.next();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        end();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}
