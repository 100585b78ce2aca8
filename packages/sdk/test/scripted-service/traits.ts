/** What kind of service it is. All of them keep to the protocol; what that leaves open differs. */
export interface ServiceTraits {
  hasUsage: boolean;
  hasIdempotency: boolean;
  /** Sends `RateLimit` and `RateLimit-Policy`. */
  statesQuota: boolean;
  /** Names the bad entries of a batch in `details`. */
  namesBadEntries: boolean;
  /** Says which limit of the plan was reached, and how far. */
  namesLimit: boolean;
  /** 403 with `upgrade` for a batch that is too large, or 413. */
  oversize: 403 | 413;
  /** Refuses a bad entry alone, with an `error` in its result. */
  refusesSingly: boolean;
  /** Says something in `error` of links that it has created. */
  remarks: boolean;
  /** Batches of more links become jobs: 100, or fewer on a service with a rule of its own. */
  syncLinks: number;
  batchSize: number;
  /** Requests of a minute, a day, and links of the plan. Beyond any number: unlimited. */
  perMinute: number;
  perDay: number;
  links: number;
  /** Time that a job takes for a link. */
  msPerLink: number;
  /** Words for a job that runs and for one that is done. */
  jobWords: readonly [running: string, done: string];
  saysWhenToPoll: boolean;
  /** How answers look: 0 is as documented. */
  shape: 0 | 1 | 2 | 3;
  /**
   * Where the jobs 3, 6, 10, 15 and so on end as `failed`: half-way, or before their first link. Not every third one, which would be
   * the same batch of each run.
   */
  failsJobs: 'half-way' | 'at once' | undefined;
  /** Forgets its jobs when it is restarted; else they continue. */
  losesJobs: boolean;
  /** Shows the results of a job for two hours after each link was made. */
  forgetsResults: boolean;
  /** Can be asked which links exist. */
  hasLookup: boolean;
}

/** A service as it is documented, with everything that clients may ask of it, and without limits. */
export const USUAL_TRAITS: ServiceTraits = {
  hasUsage: true,
  hasIdempotency: true,
  statesQuota: false,
  namesBadEntries: true,
  namesLimit: true,
  oversize: 403,
  refusesSingly: false,
  remarks: false,
  syncLinks: 100,
  batchSize: 10_000,
  perMinute: Number.POSITIVE_INFINITY,
  perDay: Number.POSITIVE_INFINITY,
  links: Number.POSITIVE_INFINITY,
  msPerLink: 0,
  jobWords: ['processing', 'completed'],
  saysWhenToPoll: false,
  shape: 0,
  failsJobs: undefined,
  losesJobs: false,
  forgetsResults: false,
  hasLookup: true,
};
