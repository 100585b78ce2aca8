import type { LinkIdentity } from '../map/link-identity.ts';
import type { LinkResult } from '../types.ts';

/** The links of a batch in the table `link`: so many, from this id on. */
export interface LinkRange {
  firstLink: number;
  size: number;
}

/** A request of an earlier run, or of an earlier round of this run, that may have created links. */
export interface OpenBatch extends LinkRange {
  id: number;
  /** RFC 3339. */
  sentAt: string;
  idempotencyKey: string | undefined;
  /** The job, which a poll may still find. */
  job: string | undefined;
  /** Default domain of the request. */
  domain: string | undefined;
  /** JSON of its links, where it may be sent again under its key. */
  body: string | undefined;
}

export interface NewBatch extends Pick<OpenBatch, 'sentAt' | 'idempotencyKey' | 'domain' | 'body'> {
  links: readonly LinkIdentity[];
}

/** What became of the links of a batch. */
export interface Decision {
  results: readonly LinkResult[];
  /** Ids of the links in the table `link`, in the order of the results. @default all links of the batch */
  ids?: readonly number[] | undefined;
  /** Whether links without a result will never get one: the request is forgotten. */
  isFinal: boolean;
  /** The job that may still be polled, and why it is not known what the other links are. */
  job?: string | undefined;
  error?: string | undefined;
}
