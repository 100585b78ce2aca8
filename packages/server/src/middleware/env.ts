import type { Caller } from '../store/store.ts';
import type { AnswerHeaders } from './answer.ts';

/** The connection a request came over; nothing of it is known when the app is called without a socket. */
export interface Connection {
  incoming?: { socket: { remoteAddress?: string | undefined } } | undefined;
}

/** What every handler can read from its context. */
export interface AppEnv {
  Bindings: Connection;
  Variables: {
    /** What tells this request from all others: `X-Request-Id` of the answer. */
    requestId: string;
    /** Filled by `setHeader`. */
    answerHeaders?: AnswerHeaders;
    /** Set by `authenticate`; absent where no key is asked for. */
    caller?: Caller;
  };
}

/** What handlers behind `authenticate` can read. */
export interface CallerEnv {
  Bindings: Connection;
  Variables: AppEnv['Variables'] & { caller: Caller };
}
