import type { Shortlink } from '@shortlink/sdk';
import type { TextWritable } from './report/output-file.ts';
import type { ImportEvent } from './types.ts';

/** What an import needs of the world around it. */
export interface ImportDeps {
  client: {
    links: Pick<Shortlink['links'], 'createMany'>;
    jobs: Pick<Shortlink['jobs'], 'wait'>;
    usage: Pick<Shortlink['usage'], 'retrieve'>;
  };
  /** Read when the input is `-`. */
  stdin: AsyncIterable<Uint8Array | string>;
  /** Written when the output is `-`. */
  stdout: TextWritable;
  onEvent: (event: ImportEvent) => void;
  /** Ends the import at once: requests in flight are aborted, and become `unknown`. */
  signal: AbortSignal;
  /** Ends it softly: no new batch is sent, those in flight are finished. */
  stopSignal: AbortSignal;
  /** Requests made so far, retries and polls included. */
  requestCount: () => number;
  /** A clock for durations, in milliseconds. */
  now: () => number;
  /** The time, as `Date.now()` counts. @default Date.now */
  wallClock?: (() => number) | undefined;
}
