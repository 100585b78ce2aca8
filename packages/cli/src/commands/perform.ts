import type { Command } from 'commander';
import type { Context } from '../context.ts';
import type { ExitCode } from '../exit-codes.ts';

/**
 * Runs the acting half of a command. A command's own file declares its words and options, its `parse…` function turns
 * them into typed input, and its acting function gets that input and the context.
 */
export type Perform = (
  command: Command,
  act: (context: Context) => Promise<ExitCode>,
) => Promise<void>;
