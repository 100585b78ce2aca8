import type { RuntimeTraits } from '../suite/check.ts';

/** A runtime that the suite runs in, and how to start it. */
export interface Runtime extends RuntimeTraits {
  /** The npm package that brings it. */
  packageName: string;
  /**
   * Starts it, runs the suite in it to its end, and stops it.
   *
   * @throws Error when the runtime doesn't start or the suite can't finish; its message holds what the runtime printed
   */
  run: (stageUrl: string, signal: AbortSignal) => Promise<RunOutput>;
  /** Runs a program that starts the server for tests and closes it. `undefined` where no server can run. */
  runTestServer?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
}

export interface RunOutput {
  /** Such as `22.23.3`. */
  version: string;
  /** Everything it printed. */
  output: string;
  /** Keys of services that it started itself, which it must not print either. @default none */
  apiKeys?: readonly string[] | undefined;
}
