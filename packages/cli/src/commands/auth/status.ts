import type { Command } from 'commander';
import { maskKey } from '../../config/rules.ts';
import type { Context } from '../../context.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { Perform } from '../perform.ts';
import { checkKey } from './check-key.ts';

export function declareAuthStatus(auth: Command, perform: Perform): void {
  auth
    .command('status')
    .description(
      'Show which API key is used, where it comes from, and whether the server takes it.',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink auth status
  $ shortlink auth status --profile staging && shortlink import links.csv --profile staging`,
    )
    .action((_options: object, command: Command) => perform(command, showStatus));
}

async function showStatus(context: Context): Promise<ExitCode> {
  const account = await context.account();
  const settings = await context.settings();
  const valid =
    (await context.interruptible((signal) => checkKey(account, context, signal))) === 'valid';
  const key = maskKey(account.apiKey);
  const source = settings.apiKey?.source;
  const profile = settings.profile.value;
  const { printer } = context;
  if (context.globals.json === true) {
    printer.json({ valid, base_url: account.baseUrl, profile, api_key: key, source });
  } else {
    const paint = valid ? printer.outStyle.green : printer.outStyle.red;
    printer.data(
      `${paint(valid ? 'valid' : 'refused')}  key ${key} (${source}) at ${account.baseUrl}, profile ${profile}`,
    );
  }
  return valid ? EXIT_CODES.ok : EXIT_CODES.authentication;
}
