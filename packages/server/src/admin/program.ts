import { Command, CommanderError } from 'commander';
import { ConfigError } from '../settings.ts';
import { StoreError } from '../store/store-error.ts';
import { registerAccounts } from './accounts.ts';
import { type CommandContext, CommandFailed, EXIT, onDatabase, sayDatabase } from './command.ts';
import { registerDoctor } from './doctor.ts';
import { registerDomains } from './domains.ts';
import { addCommand, examples, layOutHelp, variablesHelp } from './help.ts';
import { registerKeys } from './keys.ts';
import { registerLinks } from './links.ts';
import { terminalSafe, terminalSafeLines } from './output.ts';
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
    // Whoever reads the output has read enough, such as `| head`.
    if (isSystemError(error) && error.code === 'EPIPE') return EXIT.ok;
    if (error instanceof ConfigError) {
      context.err(`error: ${terminalSafe(error.message)}`);
      return EXIT.usage;
    }
    context.err(`error: ${explain(error)}`);
    for (const line of hintsFor(error, args)) context.err(`  ${line}`);
    return EXIT.failed;
  }
}

/** An expected error is one line. A bug is shown with its stack, which helps to find it. */
function explain(error: unknown): string {
  if (error instanceof CommandFailed || error instanceof StoreError || isSystemError(error)) {
    return terminalSafe(error.message);
  }
  if (!(error instanceof Error)) return terminalSafe(String(error));
  return terminalSafeLines(error.stack ?? error.message);
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

const NO_ADDRESS =
  'This machine has no such address. Choose another with --host or SHORTLINK_HOST.';

/** What to do about an address that the server can't listen on, by the code of the error. */
const HINTS: Readonly<Record<string, readonly string[]>> = {
  EADDRINUSE: [
    'Another program listens there, perhaps this server, started earlier.',
    'Stop it, or choose another port with --port or SHORTLINK_PORT;',
    '--port 0 picks a free one.',
  ],
  EACCES: [
    'Ports below 1024 need a right that this user lacks.',
    'Choose another with --port or SHORTLINK_PORT.',
  ],
  EADDRNOTAVAIL: [NO_ADDRESS],
  ENOTFOUND: [NO_ADDRESS],
};

function hintsFor(error: unknown, args: readonly string[]): readonly string[] {
  const isNew = error instanceof StoreError && error.reason === 'too_old';
  if (isNew && args.slice(0, 2).join(' ') === 'accounts create') {
    return ['With --init, it is made here, and its schema brought up to date.'];
  }
  return isSystemError(error) ? (HINTS[error.code ?? ''] ?? []) : [];
}

/** The whole command line: every command, option and help text. */
export function buildProgram(context: CommandContext, version: string): Command {
  const program = new Command('shortlink-server')
    .description('Run a short-link service, and manage its accounts, keys, domains and links.')
    .version(version, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.out(text.trimEnd()),
      writeErr: (text) => context.err(terminalSafeLines(text.trimEnd())),
    });
  layOutHelp(program, context.terminal);
  program.commandsGroup('Serving:');
  registerStart(program, context);
  program.commandsGroup('Accounts, keys, domains and links:');
  registerAccounts(program, context);
  registerKeys(program, context);
  registerDomains(program, context);
  registerLinks(program, context);
  program.commandsGroup('The database:');
  registerDatabase(program, context);
  program.commandsGroup('Help:').helpCommand('help [command]', 'Print help for a command.');
  examples(
    program,
    'start --dev',
    'accounts create --name Acme --plan pro',
    'keys create --account acc_7hVmWq2RkPzN --name ci',
    'start --public-url https://sho.rt \\\n      --database postgres://db.internal/links',
  );
  variablesHelp(program, 'all');
  return program;
}

function registerDatabase(program: Command, context: CommandContext): void {
  registerDoctor(program, context);
  const migrate =
    'Make the database, or bring it up to the version of this program, as start and accounts create --init do.';
  onDatabase(context, addCommand(program, 'migrate', migrate, 'migrate'), async (settings) => ({
    json: await context.migrate(settings),
  }));
  const backup = addCommand(
    program,
    'backup <file>',
    'Copy the SQLite database into a new file, while the server runs.',
    'backup /backups/2027-01-31.db',
  );
  onDatabase(context, backup, async (settings, file: string) => {
    sayDatabase(context, settings);
    await context.backup(settings, file);
    return { json: { file } };
  });
}
