import type { TextSink } from './text-sink.ts';

export interface GuardedSink extends Pick<TextSink, 'write' | 'full' | 'drain'> {
  /** What went wrong; from then on everything written is dropped. */
  readonly failure: { error: unknown } | undefined;
}

/** A sink that doesn't throw: a full disk or a closed pipe is told once, and remembered. */
export function guardSink(
  sink: Pick<TextSink, 'write' | 'full' | 'drain'>,
  onFailure: () => void,
): GuardedSink {
  let failure: GuardedSink['failure'];
  return {
    get failure() {
      return failure;
    },
    write: (text) => {
      if (failure === undefined) sink.write(text);
    },
    get full() {
      return failure === undefined && sink.full;
    },
    drain: async () => {
      try {
        await sink.drain();
      } catch (error) {
        failure = { error };
        onFailure();
      }
    },
  };
}
