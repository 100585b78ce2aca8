import { CommandFailed } from '../command.ts';

/** What is wrong with an export, or with what is to become of it; for the operator. */
export class MoveError extends Error {
  override readonly name = 'MoveError';
}

/** What the operator is told of a file that can't be read or used; any other error as it is. */
export function failureOfFile(error: unknown): unknown {
  const isExpected =
    error instanceof MoveError || (error instanceof Error && error.name === 'InputError');
  return isExpected ? new CommandFailed(error.message) : error;
}
