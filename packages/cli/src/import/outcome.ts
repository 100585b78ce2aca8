import type { RecordedResult } from '@shortlink/sdk';

/** What became of one row, as its line in the results says it. */
export type Outcome =
  | { status: 'created'; code: string; short_url: string }
  | { status: 'rejected' | 'failed' | 'unknown' | 'unsent'; error: string };

/** The outcome of one item of a batch that completed; undefined stands for an item that the answer left out. */
export function outcomeOf(result: RecordedResult | undefined): Outcome {
  if (result?.error) return { status: 'failed', error: result.error };
  if (result?.code === undefined || result.short_url === undefined) {
    return { status: 'unknown', error: "the service's answer does not hold this link" };
  }
  return { status: 'created', code: result.code, short_url: result.short_url };
}
