import type { Job } from '@shortlink/sdk';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { bar } from '../../output/bar.ts';
import { formatCount, plural } from '../../output/format.ts';
import { openStatusLine } from '../../output/status-line.ts';
import { parseDuration } from '../option-values.ts';
import type { Perform } from '../perform.ts';
import { declareJobArguments, type JobInput, type JobOptions, parseJob } from './job-input.ts';
import { showJob } from './show-job.ts';

interface WaitOptions extends JobOptions {
  maxWait?: number | undefined;
}

interface WaitInput extends JobInput {
  /** Undefined is the client's own limit, one hour. */
  timeoutMs: number | undefined;
}

export function declareJobWait(job: Command, perform: Perform): void {
  declareJobArguments(
    job.command('wait').description('Wait until a batch job is complete, then show its results.'),
  )
    .option('--max-wait <duration>', 'give up after this long (default: 1h)', parseDuration)
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink job wait 0193f5c2-7a10-7c41-9d2e-3f1b5a7c9e10
  $ shortlink job wait 0193f5c2-7a10-7c41-9d2e-3f1b5a7c9e10 -o results.csv --max-wait 10m`,
    )
    .action((id: string, options: WaitOptions, command: Command) =>
      perform(command, (context) =>
        waitForJob({ ...parseJob(id, options), timeoutMs: options.maxWait }, context),
      ),
    );
}

const BAR_WIDTH = 20;

async function waitForJob(input: WaitInput, context: Context): Promise<ExitCode> {
  const shortlink = await context.client(await context.account());
  const status = await openStatusLine(context.io, context.printer);
  let latest = `Waiting for job ${input.id}`;
  const onProgress = ({ processed, total }: Job) => {
    const fraction = total === 0 ? 1 : processed / total;
    latest = `${bar(fraction, BAR_WIDTH)} ${formatCount(processed)} of ${plural(total, 'link')} done`;
  };
  status.start(() => latest);
  try {
    const job = await context.interruptible((signal) =>
      shortlink.jobs.wait(input.id, { onProgress, signal, timeoutMs: input.timeoutMs }),
    );
    status.stop();
    await showJob(job, input.output, context);
    return job.results.some((item) => (item.error ?? '') !== '')
      ? EXIT_CODES.rowsFailed
      : EXIT_CODES.ok;
  } catch (error) {
    status.stop();
    const { JobFailedError } = await import('@shortlink/sdk');
    // What a failed job did is worth as much as what a complete one did.
    if (JobFailedError.isInstance(error)) {
      await showJob(error.job, input.output, context);
    }
    throw error;
  }
}
