import {
  AuthenticationError,
  PermissionError,
  PlanLimitError,
  RateLimitError,
} from '@shortlink/sdk';
import type { ImportSummary, StopReason } from './types.ts';

export type Stopped = NonNullable<ImportSummary['stopped']>;

/** How far the import has come, for messages. */
export interface Progress {
  /** Name of the input. */
  name: string;
  created: number;
  unsent: number;
  rows: number;
}

/** What an error that ended the sending means, in the form: what happened, how far we are, what to do. */
export function stoppedByError(error: unknown, progress: Progress): Stopped {
  const reason = reasonOf(error);
  const cause = error instanceof Error ? error.message : String(error);
  return { reason, message: `${WORDS[reason](cause)} ${describe(progress)}`, error };
}

type ErrorReason = Exclude<StopReason, 'rejects' | 'unknown' | 'interrupted'>;

const WORDS: Readonly<Record<ErrorReason, (cause: string) => string>> = {
  authentication: (cause) => `The API key was refused: ${sentence(cause)}`,
  plan_limit: (cause) => `The plan's limit is reached: ${sentence(cause)}`,
  rate_limit: (cause) => `The rate limit asks for a longer wait than allowed: ${sentence(cause)}`,
  error: (cause) => sentence(cause),
};

function reasonOf(error: unknown): ErrorReason {
  if (PlanLimitError.isInstance(error)) return 'plan_limit';
  if (RateLimitError.isInstance(error)) return 'rate_limit';
  if (AuthenticationError.isInstance(error) || PermissionError.isInstance(error)) {
    return 'authentication';
  }
  return 'error';
}

/** @param areJobs all of the rows belong to jobs that the service accepted, and that may still be asked */
export function stoppedByUnknown(progress: Progress, unknown: number, areJobs: boolean): Stopped {
  if (areJobs) {
    return {
      reason: 'unknown',
      message:
        `The service accepted ${count(unknown, 'row')} of ${progress.name}, and their jobs could not be followed to the ` +
        `end. ${describe(progress)} The next run asks for the jobs first, and sends nothing twice.`,
    };
  }
  return {
    reason: 'unknown',
    message:
      `It is not known whether ${count(unknown, 'row')} of ${progress.name} became links: the answer to their request ` +
      `was lost. ${describe(progress)} The results file marks them as unknown. Look whether the links are there, then ` +
      'leave these rows with --on-unknown skip, or send them again with --on-unknown retry.',
    mustDecide: true,
  };
}

export function stoppedByUser(progress: Progress): Stopped {
  return { reason: 'interrupted', message: `Interrupted. ${describe(progress)}` };
}

export function stoppedByRejects(
  progress: Progress,
  rejected: number,
  allowed: number,
  rejectsFile: string | undefined,
): Stopped {
  const they = rejected === 1 ? 'it is' : 'they are';
  const reasons = rejected === 1 ? 'its reason' : 'their reasons';
  const where = rejectsFile === undefined ? '' : `; ${they} in ${rejectsFile} with ${reasons}`;
  const than = allowed === 0 ? '' : `, more than the ${grouped(allowed)} allowed`;
  return {
    reason: 'rejects',
    message:
      `${count(rejected, 'row')} of ${progress.name} can't be sent${than}${where}. Nothing was sent. ` +
      `Mend ${rejected === 1 ? 'it' : 'them'}, or send the other rows only: --max-rejects all`,
  };
}

function describe({ name, created, unsent, rows }: Progress): string {
  const done = `${grouped(created)} of ${count(rows, 'row')} of ${name} are created`;
  return unsent === 0 ? `${done}.` : `${done}, ${grouped(unsent)} not sent.`;
}

function count(value: number, noun: string): string {
  return `${grouped(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** `12000` as `12,000`, as the table at the end has it. */
function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
