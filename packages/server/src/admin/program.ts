import { Command, CommanderError } from 'commander';
import { ConfigError, SETTINGS } from '../settings.ts';
import { StoreError } from '../store/store-error.ts';
import { registerAccounts } from './accounts.ts';
import {
  type CommandContext,
  CommandFailed,
  databaseCommand,
  EXIT,
  examples,
  HELP_WIDTH,
  print,
  settingsOf,
} from './command.ts';
import { registerDomains } from './domains.ts';
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
    if (error instanceof ConfigError) {
      context.err(`error: ${terminalSafe(error.message)}`);
      return EXIT.usage;
    }
    context.err(`error: ${explain(error)}`);
    return EXIT.failed;
  }
}

/** One line for what was foreseen; for a fault of ours, all that helps to find it. */
function explain(error: unknown): string {
  if (error instanceof CommandFailed || error instanceof StoreError) {
    return terminalSafe(error.message);
  }
  if (!(error instanceof Error)) return terminalSafe(String(error));
  if (!('syscall' in error)) return terminalSafeLines(error.stack ?? error.message);
  return terminalSafe(error.message) + hintFor('code' in error ? error.code : undefined);
}

/** What to do about an address that the server can't listen on. */
function hintFor(code: unknown): string {
  switch (code) {
    case 'EADDRINUSE':
      return '; stop the program that listens there, or choose another port with --port or SHORTLINK_PORT';
    case 'EACCES':
      return '; ports below 1024 need a right that this user lacks: choose another with --port or SHORTLINK_PORT';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return '; this machine has no such address: choose another with --host or SHORTLINK_HOST';
    default:
      return '';
  }
}

/** The whole command line: every command, option and help text. */
export function buildProgram(context: CommandContext, version: string): Command {
  const program = new Command('shortlink-server')
    .description('The Shortlink reference server and the commands of its operator')
    .version(version)
    .exitOverride()
    .configureHelp({ helpWidth: HELP_WIDTH })
    .configureOutput({
      writeOut: (text) => context.out(text.trimEnd()),
      writeErr: (text) => context.err(terminalSafeLines(text.trimEnd())),
    })
    .addHelpText('after', () => `\n${settingsHelp()}`);
  program.commandsGroup('Serving:');
  registerStart(program, context);
  program.commandsGroup('Accounts, keys, domains and links:');
  registerAccounts(program, context);
  registerKeys(program, context);
  registerDomains(program, context);
  registerLinks(program, context);
  program.commandsGroup('The database:');
  registerDatabase(program, context);
  program.commandsGroup('Help:');
  return program;
}

/** Every setting with its variable, for the help of the program. */
function settingsHelp(): string {
  const names = Object.values(SETTINGS).map(({ option }) => option.envVar ?? '');
  const width = Math.max(...names.map((name) => name.length)) + 4;
  const lines = Object.values(SETTINGS).map(({ option }) => {
    const fallback: unknown = option.defaultValue;
    const text = option.description + (fallback === undefined ? '' : ` (default: ${fallback})`);
    return `  ${(option.envVar ?? '').padEnd(width - 2)}${wrap(text, HELP_WIDTH - width, width)}`;
  });
  return [
    'Settings (a flag of the same name wins; see start --help):',
    ...lines,
    '',
    wrap('Add _FILE to a name to give a file that holds the value, such as a secret.', HELP_WIDTH),
  ].join('\n');
}

/** Text in lines of at most `width` characters; all but the first are indented. */
function wrap(text: string, width: number, indent = 0): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length >= width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}

function registerDatabase(program: Command, context: CommandContext): void {
  // Every command migrates when it opens the database; this one does nothing else, and prints the versions.
  examples(
    databaseCommand(program, 'migrate', 'bring the database up to the version of this program'),
    'migrate',
  ).action(async (_, command: Command) => {
    const report = await context.migrate(settingsOf(context, command));
    print(context, command, { json: report });
  });
  examples(
    databaseCommand(
      program,
      'backup <file>',
      'copy the SQLite database into a new file, while the server runs',
    ),
    'backup /backups/2027-01-31.db',
  ).action(async (file: string, _, command: Command) => {
    await context.backup(settingsOf(context, command), file);
    print(context, command, { json: { file } });
  });
}
