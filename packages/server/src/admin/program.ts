import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { StoreError } from '../store/store-error.ts';
import { registerAccountsCreate } from './accounts-create.ts';
import { registerAccountsList } from './accounts-list.ts';
import { registerAccountsShow } from './accounts-show.ts';
import { registerBackup } from './backup.ts';
import type { CommandContext } from './context.ts';
import { registerDomainsAdd } from './domains-add.ts';
import { registerDomainsList } from './domains-list.ts';
import { CommandFailed, EXIT } from './exit-codes.ts';
import { registerKeysCreate } from './keys-create.ts';
import { registerKeysList } from './keys-list.ts';
import { registerKeysRevoke } from './keys-revoke.ts';
import { registerLinksSetActive } from './links-set-active.ts';
import { registerLinksShow } from './links-show.ts';
import { registerMigrate } from './migrate.ts';
import { registerStart } from './start.ts';

/** Runs one command line, without the program's own name, and resolves to its exit code. */
export async function runProgram(
  args: readonly string[],
  version: string,
  context: CommandContext,
): Promise<number> {
  try {
    await buildProgram(context, version).parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    // Commander has printed its own message; help and version are no errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof ConfigError) {
      context.err(`error: ${error.message}`);
      return EXIT.usage;
    }
    context.err(`error: ${explain(error)}`);
    return EXIT.failed;
  }
}

/** One line for what was foreseen; for a fault of ours, all that helps to find it. */
function explain(error: unknown): string {
  if (error instanceof CommandFailed || error instanceof StoreError) return error.message;
  if (!(error instanceof Error)) return String(error);
  return 'syscall' in error ? error.message : (error.stack ?? error.message);
}

function buildProgram(context: CommandContext, version: string): Command {
  const program = new Command('shortlink-server')
    .description('The Shortlink reference server and its admin commands')
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.out(text.trimEnd()),
      writeErr: (text) => context.err(text.trimEnd()),
    });
  registerStart(program, context);
  const accounts = program.command('accounts').description('accounts and their plans');
  registerAccountsCreate(accounts, context);
  registerAccountsList(accounts, context);
  registerAccountsShow(accounts, context);
  const keys = program.command('keys').description('API keys');
  registerKeysCreate(keys, context);
  registerKeysList(keys, context);
  registerKeysRevoke(keys, context);
  const domains = program.command('domains').description('custom short domains');
  registerDomainsAdd(domains, context);
  registerDomainsList(domains, context);
  const links = program.command('links').description('single links');
  registerLinksShow(links, context);
  registerLinksSetActive(links, context);
  registerMigrate(program, context);
  registerBackup(program, context);
  return program;
}
