import type { RequestIdVariables } from 'hono/request-id';
import type { Caller } from '../store/store.ts';

/** What every handler can read from its context. */
export interface AppEnv {
  Variables: RequestIdVariables & {
    /** Set by `authenticate`; absent where no key is asked for. */
    caller?: Caller;
  };
}

/** What handlers behind `authenticate` can read. */
export interface CallerEnv {
  Variables: AppEnv['Variables'] & { caller: Caller };
}
