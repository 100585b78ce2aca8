import type { Stage } from './stage.ts';

/** What differs between runtimes. Everything else must be the same in all of them. */
export interface RuntimeTraits {
  /** The name in the documentation, such as `Node.js 22`. */
  name: string;
  /** Whether its `fetch` reports that a request was never sent, as when the connection is refused. */
  tellsNotSent: boolean;
  /** Whether it repeats a POST by itself when a reused connection was lost. The client can't see that. */
  repeatsLostPosts: boolean;
}

/** One thing that must hold in every runtime. */
export interface Check {
  /** A unique name for reports. */
  name: string;
  /** Rejects when the check fails. The servers that it starts on the stage are stopped afterwards. */
  run: (stage: Stage, runtime: RuntimeTraits) => Promise<void>;
}

/** The outcome of one check. */
export interface CheckResult {
  name: string;
  /** Why it failed; absent when it passed. */
  failure?: string | undefined;
  durationMs: number;
}

/** The outcomes of all checks in one runtime. */
export interface Report {
  results: CheckResult[];
}
