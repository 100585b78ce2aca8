import type { BatchRange } from '@shortlink/sdk';

/** Version of the file's form; a higher one was written by a newer release. */
export const JOURNAL_VERSION = 1;

/** What a journal belongs to. A run that differs in any of it would put the recorded links on the wrong rows. */
export interface JournalIdentity {
  /** Bytes of the input and their hash. */
  input: { size: number; sha256: string };
  /** How rows become links: format, mapping and the values for rows that have none. */
  settings: Readonly<Record<string, unknown>>;
  target: { baseUrl: string; keyFingerprint: string };
}

/** The first line. */
export interface HeaderRecord extends JournalIdentity {
  t: 'header';
  v: typeof JOURNAL_VERSION;
  /** When the import was begun, RFC 3339. */
  at: string;
  /** Links that the input holds. */
  links: number;
}

/**
 * A result as `[code, short_url]`, or with the error that the service gave for it, or with the target URL where it is
 * not the one that was sent; `null` for what was missing.
 */
export type PackedItem = readonly [
  code: string | null,
  short_url: string | null,
  error?: string | null,
  target_url?: string,
];

/** One step of one batch. `sent` is on disk before its request goes out, the others once its answer is in. */
export type StepRecord = BatchRange &
  (
    | {
        t: 'sent';
        /** RFC 3339: servers forget idempotency keys after a while. */
        at: string;
        /** The `Idempotency-Key`, where one was sent. */
        key?: string | undefined;
      }
    | { t: 'accepted'; job: string }
    /** Short URLs that all begin alike: `prefix` and each one's code. */
    | { t: 'completed'; prefix: string; codes: readonly string[] }
    | { t: 'completed'; items: readonly PackedItem[] }
    /** Certainly not created, and sending the same again would end the same. */
    | { t: 'failed'; error: string }
    | {
        t: 'unknown';
        error: string;
        /** The job that may still tell. */
        job?: string | undefined;
      }
    /** Nothing was created; the links are free to be sent again. */
    | { t: 'released'; error: string }
  );

export type JournalRecord = HeaderRecord | StepRecord | { t: 'finished'; at: string };
