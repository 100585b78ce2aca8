import type { PlanLimits } from '@shortlink/sdk/wire';
import type { Lead } from './leads.ts';
import type { MovedLink, MoveService } from './move-files.ts';
import type { Answer, Witness } from './world.ts';

/** An account as its clients know it. */
export interface Account {
  name: string;
  id: string;
  keys: Key[];
  /** Every set of limits that was in force, also in the end. */
  limits: PlanLimits[];
}

export interface Key {
  id: string;
  key: string;
  /** Set once the operator asks for it; `doneAt`, in milliseconds since the start, once it is done. */
  revoked: { doneAt: number } | undefined;
}

/** Something that a client wants to exist once: a link, a batch or a job, asked for once or, with an idempotency key, several times. */
export interface Create {
  number: number;
  account: Account;
  kind: 'link' | 'batch' | 'job';
  count: number;
  idempotencyKey: string | undefined;
  /** Index of the entry that is no link, so that all of it must be refused. */
  badEntry: number | undefined;
  /** The create whose idempotency key it takes with another body. */
  conflictsWith: Create | undefined;
  attempts: Attempt[];
  /** The body of the first response that acknowledged it. */
  acknowledged: Acknowledged | undefined;
  /** The largest progress that a client has seen of the job. */
  seen: number;
}

// biome-ignore lint/suspicious/noExplicitAny: what a response says is looked into, whatever it is.
export type Acknowledged = any;

/** One request and what came of it. */
export interface Attempt {
  number: number;
  account: Account;
  key: Key;
  what: 'create' | 'poll' | 'lookup';
  /** The process that it was sent to. */
  instance: string;
  create: Create | undefined;
  sentAt: number;
  /** When time had passed before with something to do: a process may still be in a turn that began before that. */
  passedAt: number;
  /** How many events the ledger had when it was sent, and when its end was known; `undefined` until then. */
  began: number;
  ended: number | undefined;
  /** `undefined` when no response came. */
  answer: Answer | undefined;
  /** Time has leapt, so that it may have failed without a fault. */
  isLate: boolean;
  witness: Witness;
}

/** Links that the operator moves in with one command. */
export interface Move {
  account: Account;
  service: MoveService;
  /** When they were created, in milliseconds since the epoch. */
  at: number;
  links: MovedLink[];
  /** Whether the operator was told that they are there. */
  isCertain: boolean;
}

/** All that clients sent and received: what the service is measured by. */
export interface Ledger {
  accounts: Account[];
  creates: Create[];
  attempts: Attempt[];
  /** Redirects that were asked for, and those that were given, by code. */
  clicks: Map<string, { sent: number; answered: number }>;
  /** Where corrected and moved links lead, and led before, by the path of their short URL. */
  leads: Map<string, Lead[]>;
  moves: Move[];
  /** How many events there were each time the disk failed. */
  faults: number[];
  /** Whether faults happen to reads too, and not only to what is written. */
  readsFail: boolean;
  /** Whether something died, or the disk failed, so that responses and clicks may be lost. */
  wasRough: boolean;
  /** Counts up with every beginning and end of a request. */
  events: number;
  /** What should never be, in words; the first one counts. */
  violations: string[];
  /** What happened, line by line. */
  trace: string[];
}

export function targetOf(create: Create, index: number): string {
  return `https://example.com/${create.number}/${index}`;
}
