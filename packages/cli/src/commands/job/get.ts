import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { Perform } from '../perform.ts';
import { declareJobArguments, type JobInput, type JobOptions, parseJob } from './job-input.ts';
import { showJob } from './show-job.ts';

export function declareJobGet(job: Command, perform: Perform): void {
  declareJobArguments(
    job.command('get').description('Show how far a batch job is, and its results so far.'),
  )
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink job get 0193f5c2-7a10-7c41-9d2e-3f1b5a7c9e10
  $ shortlink job get 0193f5c2-7a10-7c41-9d2e-3f1b5a7c9e10 -o results.csv`,
    )
    .action((id: string, options: JobOptions, command: Command) =>
      perform(command, (context) => getJob(parseJob(id, options), context)),
    );
}

async function getJob(input: JobInput, context: Context): Promise<ExitCode> {
  const shortlink = await context.client(await context.account());
  const job = await context.interruptible((signal) =>
    shortlink.jobs.retrieve(input.id, { signal }),
  );
  await showJob(job, input.output, context);
  return EXIT_CODES.ok;
}
