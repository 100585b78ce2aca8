import type { CreateLinkBody } from '@shortlink/sdk';
import { type Command, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import type { Context } from '../context.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { sanitize } from '../output/sanitize.ts';
import { collect, parseRedirectType, REDIRECT_TYPE_CHOICES } from './option-values.ts';
import type { Perform } from './perform.ts';

interface CreateOptions {
  title?: string | undefined;
  tag?: string[] | undefined;
  domain?: string | undefined;
  redirectType?: string | undefined;
}

export function declareCreate(program: Command, perform: Perform): void {
  program
    .command('create')
    .description('Create one short link and print its short URL.')
    .argument('<url>', 'destination: an absolute http: or https: URL')
    .option('--title <text>', 'title of the link')
    .option('--tag <tag>', 'label of the link; may be given several times', collect)
    .option('--domain <id>', 'custom domain of the account (default: the service’s own)')
    .addOption(
      new Option('--redirect-type <status>', 'HTTP status of the redirect (default: 302)').choices(
        REDIRECT_TYPE_CHOICES,
      ),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink create https://example.com/docs
  $ shortlink create https://example.com/docs --title Docs --tag docs --tag help
  $ shortlink create https://example.com/moved --redirect-type 301 --json`,
    )
    .action((url: string, options: CreateOptions, command: Command) =>
      perform(command, (context) => createLink(parseCreate(url, options), context)),
    );
}

export function parseCreate(url: string, options: CreateOptions): CreateLinkBody {
  return {
    target_url: url,
    title: options.title,
    tags: options.tag,
    domain_id: options.domain,
    redirect_type: parseRedirectType(options.redirectType),
  };
}

async function createLink(body: CreateLinkBody, context: Context): Promise<ExitCode> {
  const shortlink = await context.client(await context.account());
  try {
    const link = await context.interruptible((signal) => shortlink.links.create(body, { signal }));
    if (context.globals.json === true) {
      context.printer.json(link);
    } else {
      context.printer.data(sanitize(link.short_url));
    }
    return EXIT_CODES.ok;
  } catch (error) {
    const { isOutcomeUnknown } = await import('@shortlink/sdk');
    if (isOutcomeUnknown(error)) {
      throw new CliError(
        `It is not known whether the link was created: ${error instanceof Error ? error.message : error}`,
        {
          code: 'unknown_fate',
          exitCode: EXIT_CODES.unknownFate,
          hint: 'Look for it on the server before you create it again, or there may be two.',
          cause: error,
        },
      );
    }
    throw error;
  }
}
