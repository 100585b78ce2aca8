import { type Command, InvalidArgumentError } from 'commander';

export interface JobOptions {
  output?: JobOutput | undefined;
}

/** Where the results go, and in which form. */
export interface JobOutput {
  /** A path, or `-` for standard output. */
  path: string;
  format: 'csv' | 'json';
}

export interface JobInput {
  id: string;
  output: JobOutput | undefined;
}

/** The argument and options that both job commands take. */
export function declareJobArguments(command: Command): Command {
  return command
    .argument('<id>', 'id of the job, as the batch request or the import printed it')
    .option(
      '-o, --output <file>',
      'write the results to a .csv or .json file; - is CSV to stdout',
      parseOutput,
    );
}

export function parseJob(id: string, options: JobOptions): JobInput {
  return { id, output: options.output };
}

function parseOutput(path: string): JobOutput {
  const lower = path.toLowerCase();
  if (path === '-' || lower.endsWith('.csv')) {
    return { path, format: 'csv' };
  }
  if (lower.endsWith('.json')) {
    return { path, format: 'json' };
  }
  throw new InvalidArgumentError('The file must end in .csv or .json.');
}
