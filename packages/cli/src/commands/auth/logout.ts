import type { Command } from 'commander';
import { writeConfig } from '../../config/config-file.ts';
import type { Context } from '../../context.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { Perform } from '../perform.ts';

export function declareAuthLogout(auth: Command, perform: Perform): void {
  auth
    .command('logout')
    .description('Remove the stored API key of a profile. Its base URL stays.')
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink auth logout
  $ shortlink auth logout --profile staging`,
    )
    .action((_options: object, command: Command) => perform(command, logout));
}

async function logout(context: Context): Promise<ExitCode> {
  const { profile } = await context.settings();
  const config = await context.config();
  const { api_key: stored, ...rest } = config.profiles[profile.value] ?? {};
  if (stored === undefined) {
    context.printer.note(`Profile ${profile.value} holds no API key.`);
    return EXIT_CODES.ok;
  }
  await writeConfig(context.configPath, {
    ...config,
    profiles: { ...config.profiles, [profile.value]: rest },
  });
  context.printer.note(
    `Removed the API key of profile ${profile.value} from ${context.configPath}. It stays valid on the server until it is revoked there.`,
  );
  return EXIT_CODES.ok;
}
