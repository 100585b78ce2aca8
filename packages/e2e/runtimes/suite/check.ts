import type { Stage } from './stage.ts';

/** What a runtime can and can't do; everything else must be the same in all of them. */
export interface RuntimeTraits {
  /** As the documentation calls it, such as `Node.js 22`. */
  name: string;
  /** Whether its `fetch` tells that a request never left, as when the connection is refused. */
  tellsNotSent: boolean;
  /** Whether it sends a POST again by itself, out of the client's sight, when the reused connection was lost. */
  repeatsLostPosts: boolean;
}

/** One thing that must hold in every runtime. */
export interface Check {
  /** Unique; reports name it. */
  name: string;
  /** Rejects when it doesn't hold. The servers it starts on the stage are stopped afterwards. */
  run: (stage: Stage, runtime: RuntimeTraits) => Promise<void>;
}

/** What became of one check. */
export interface CheckResult {
  name: string;
  /** Why it failed; absent when it passed. */
  failure?: string | undefined;
  durationMs: number;
}

/** What the suite found in one runtime. */
export interface Report {
  results: CheckResult[];
}
