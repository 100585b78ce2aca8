import { overloaded, tooManyAtOnce } from '../domain/problem.ts';
import { Gates } from '../gate.ts';
import type { Caller } from '../store/store.ts';
import { type HeaderContext, respond } from './respond.ts';

/** A client that takes no piece of its response for this long is cut off, in milliseconds. */
const MAX_SILENCE_MS = 60_000;

export interface LargeBody {
  bytes: number;
  pieces: Iterator<Uint8Array> | AsyncIterator<Uint8Array>;
}

/** Sends large bodies in pieces, as they are read. An account has so many slots: others wait 5 s, and too many are 429. More than `maxBytes` unread are 503. */
export function largeResponses(
  what: 'polls' | 'look-ups',
  slots: number,
  maxBytes = Number.POSITIVE_INFINITY,
) {
  const busy = () => tooManyAtOnce(what);
  const gates = new Gates({ slots, maxWaiting: 16, maxWaitMs: 5_000, busy });
  let sending = 0;
  return (
    c: HeaderContext & { var: { caller: Caller } },
    make: () => Promise<LargeBody>,
  ): Promise<Response> =>
    new Promise((resolve, reject) => {
      const makeAndSend = async () => {
        const { bytes, pieces } = await make();
        if (sending + bytes > maxBytes) {
          throw overloaded('Too many large responses are being read just now; try again in 1 s.');
        }
        sending += bytes;
        const headers = { 'Content-Type': 'application/json', 'Content-Length': String(bytes) };
        try {
          await new Promise<void>((onEnd) => {
            resolve(respond(c, streamOf(pieces, onEnd), 200, headers));
          });
        } finally {
          sending -= bytes;
        }
      };
      gates.run(c.var.caller.accountId, makeAndSend).catch(reject);
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
