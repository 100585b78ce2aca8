import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import type { Context } from '../context.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { renderUsage } from '../output/usage-view.ts';
import type { Perform } from './perform.ts';

export function declareUsage(program: Command, perform: Perform): void {
  program
    .command('usage')
    .description('Show what the account uses of what its plan allows.')
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink usage
  $ shortlink usage --json | jq .links.used`,
    )
    .action((_options: object, command: Command) => perform(command, showUsage));
}

async function showUsage(context: Context): Promise<ExitCode> {
  const account = await context.account();
  const [shortlink, { NotFoundError }] = await Promise.all([
    context.client(account),
    import('@shortlink/sdk'),
  ]);
  const usage = await context
    .interruptible((signal) => shortlink.usage.retrieve({ signal }))
    .catch((error: unknown) => {
      if (NotFoundError.isInstance(error)) {
        throw new CliError(`The service at ${account.baseUrl} does not report usage.`, {
          code: 'not_supported',
          exitCode: EXIT_CODES.error,
          hint: 'GET /api/v1/usage is an addition of the reference server; other deployments show usage in their own pages.',
          cause: error,
        });
      }
      throw error;
    });
  if (context.globals.json === true) {
    context.printer.json(usage);
  } else {
    context.printer.data(renderUsage(usage, context.printer.outStyle, Date.now()));
  }
  return EXIT_CODES.ok;
}
