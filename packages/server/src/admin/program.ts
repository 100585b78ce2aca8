import { InputError } from '@shortlink/tables/basics';
import { CommanderError, Help } from 'commander';
import { ConfigError, FLAGS, OPTIONS } from '../settings.ts';
import { StoreError } from '../store/store-error.ts';
import { registerAccounts } from './accounts.ts';
import { AdminCommand, bold, type CommandContext, CommandFailed, EXIT } from './command.ts';
import { registerDoctor } from './doctor.ts';
import { registerDomains } from './domains.ts';
import { registerKeys } from './keys.ts';
import { registerLinks } from './links.ts';
import { safeJson, terminalSafe, terminalSafeLines } from './output.ts';

/** Runs one command line, without the program's own name, and resolves to its exit code. */
export async function runProgram(
  args: readonly string[],
  version: string,
  context: CommandContext,
): Promise<number> {
  try {
    // Commander reads one word after `help`.
    const [first, ...words] = args;
    const given = first === 'help' && words.length > 1 ? [...words, '--help'] : args;
    await buildProgram(context, version).parseAsync(given, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    // Whoever reads the output has read enough, such as `| head`.
    if (isSystemError(error) && error.code === 'EPIPE') return EXIT.ok;
    const message = error instanceof Error ? error.message.replace(/^error: /, '') : String(error);
    const json = error instanceof CommandFailed ? error.json : { error: message };
    if (json !== null && args.includes('--json')) {
      await context.write(`${safeJson(json)}\n`).catch(() => undefined);
    }
    // Commander has printed its own message.
    if (error instanceof CommanderError) return EXIT.usage;
    context.err(`error: ${explain(error)}`);
    const hint = hintFor(error, args);
    if (hint !== undefined) context.err(`  ${hint}`);
    return error instanceof ConfigError ? EXIT.usage : EXIT.failed;
  }
}

const EXPECTED = [CommandFailed, ConfigError, StoreError, InputError];

/** An expected error is one line. A bug is shown with its stack, which helps to find it. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return terminalSafe(String(error));
  const isExpected = EXPECTED.some((kind) => error instanceof kind) || isSystemError(error);
  return isExpected ? terminalSafe(error.message) : terminalSafeLines(error.stack ?? error.message);
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

const NO_ADDRESS =
  'This machine has no such address. Choose another with --host or SHORTLINK_HOST.';

/** What to do about an address that the server can't listen on, by the code of the error. */
const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: `Another program listens there, perhaps this server, started earlier.
  Stop it, or choose another port with --port or SHORTLINK_PORT;
  --port 0 picks a free one.`,
  EACCES: `Ports below 1024 need a right that this user lacks.
  Choose another with --port or SHORTLINK_PORT.`,
  EADDRNOTAVAIL: NO_ADDRESS,
  ENOTFOUND: NO_ADDRESS,
};

function hintFor(error: unknown, args: readonly string[]): string | undefined {
  const isNew = error instanceof StoreError && error.reason === 'too_old';
  if (isNew && args.slice(0, 2).join(' ') === 'accounts create') {
    return 'With --init, it is made here, and its schema brought up to date.';
  }
  return isSystemError(error) ? HINTS[error.code ?? ''] : undefined;
}

/** Longest line of the help, also on a wider terminal: longer lines are hard to read. */
const MAX_WIDTH = 80;

export function buildProgram(context: CommandContext, version: string): AdminCommand {
  const help = new Help();
  const program = new AdminCommand(context, 'shortlink-server')
    .description('Run a short-link service, and manage its accounts, keys, domains and links.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    // Commands that are added below have this one, too.
    .helpCommand('help [command]', 'Print help for a command.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void context.write(`${text.trimEnd()}\n`).catch(() => undefined),
      writeErr: (text) => context.err(terminalSafeLines(text.trimEnd())),
    })
    .configureHelp({
      helpWidth: Math.min(context.columns ?? MAX_WIDTH, MAX_WIDTH),
      styleTitle: bold,
      optionDescription: (option) =>
        help.optionDescription(option) + (option.mandatory ? ' (required)' : ''),
    });
  program.commandsGroup('Serving:');
  registerStart(program);
  program.commandsGroup('Accounts, keys, domains and links:');
  registerAccounts(program);
  registerKeys(program);
  registerDomains(program);
  registerLinks(program);
  program.commandsGroup('The database:');
  registerDoctor(program);
  registerDatabase(program);
  program.commandsGroup('Help:').helpCommand('help [command]', 'Print help for a command.');
  program.examples(
    'start --dev',
    'accounts create --name Acme --plan pro',
    'keys create --account acc_7hVmWq2RkPzN --name ci',
    'start --public-url https://sho.rt \\\n      --database postgres://db.internal/links',
  );
  program.addVariables('Settings:', OPTIONS);
  return program;
}

function registerDatabase(program: AdminCommand): void {
  const migrate =
    'Make the database, or bring it up to the version of this program, as start and accounts create --init do.';
  program.add('migrate', migrate, 'migrate').onDatabase(async (work) => ({
    json: await work.database.migrate(),
  }));
  const copy = 'Copy the SQLite database into a new file, while the server runs.';
  const command = program.add('backup <file>', copy, 'backup /backups/2027-01-31.db');
  command.onDatabase(async ({ database, interruptible }, file: string) => {
    await interruptible((signal) => database.backup(file, signal));
    return { json: { file } };
  });
}

function registerStart(program: AdminCommand): void {
  const start = program.add(
    'start',
    'Serve the API, the redirects and the usage page until SIGTERM or SIGINT (Ctrl-C).',
    'start --dev',
    'start --public-url https://sho.rt \\\n      --database sqlite:/var/lib/links.db',
  );
  for (const option of FLAGS) start.addOption(option);
  start
    .option(
      '--dev',
      'for trying things out: on an empty database, create an account without limits and print its API key',
    )
    .action(({ dev = false }: { dev?: boolean }) => start.context.start(start.settings(), { dev }));
  const secrets = OPTIONS.filter((option) => !FLAGS.includes(option));
  start.addVariables('Settings without a flag, because others can read command lines:', secrets);
}
