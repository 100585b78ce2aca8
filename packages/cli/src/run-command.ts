import { type Command, CommanderError } from 'commander';
import { EXIT_CODES, type ExitCode } from './cli-error.ts';
import { Context, type GlobalOptions } from './context.ts';
import type { Io } from './io.ts';
import { buildProgram } from './program.ts';

/** Turns any error into a message and an exit code. */
export async function runCommand(argv: readonly string[], io: Io): Promise<ExitCode> {
  // Before the command line is parsed, only these options are known.
  const isJson = argv.includes('--json');
  let context = new Context(io, argv, { json: isJson, color: !argv.includes('--no-color') });
  let exitCode: ExitCode = EXIT_CODES.ok;
  const program = buildProgram(io, isJson, async (command, act) => {
    context = new Context(io, argv, command.optsWithGlobals<GlobalOptions>());
    exitCode = await act(context);
  });
  try {
    // Commander reads one word after `help`.
    const [first, ...words] = argv;
    const isHelp = first === 'help' && words.length > 1;
    await program.parseAsync(isHelp ? [...words, '--help'] : argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return await fail(error, context);
    // The help or the version was asked for.
    if (error.exitCode === 0) return EXIT_CODES.ok;
    const isHelp = error.message === HELP_SHOWN;
    const name = nameOf(argv, program);
    // A command without its subcommand has printed its help, but with --json.
    if (!isHelp || isJson) {
      const message = isHelp ? `${name} needs a subcommand.` : usageProblem(error);
      const hint = `See: ${name} --help`;
      context.printer.error({ code: 'usage', message, hint, exitCode: EXIT_CODES.usage });
    }
    return EXIT_CODES.usage;
  }
}

/** Commander's error after it printed help to stderr. */
const HELP_SHOWN = '(outputHelp)';

/** The error as one sentence. `--apikey=SECRET` is an unknown option, and `auth login SECRET` a superfluous argument: neither is repeated. */
function usageProblem({ message }: CommanderError): string {
  return message
    .replace(/^error: /, '')
    .replace(/(unknown option '--?[^'=]+)=[^']*'/, "$1'")
    .replace(/(Expected \d+ arguments? but got \d+): .*$/s, '$1.');
}

/** The command as far as a command line names one: `shortlink job wait`. */
function nameOf(argv: readonly string[], program: Command): string {
  let command = program;
  const path = [program.name()];
  for (const word of argv) {
    const next = command.commands.find((sub) => sub.name() === word);
    if (next === undefined) continue;
    command = next;
    path.push(word);
  }
  return path.join(' ');
}

async function fail(error: unknown, context: Context): Promise<ExitCode> {
  const { describeError } = await import('./output/describe-error.ts');
  const report = await describeError(error, context.profileFlag);
  context.printer.error(report);
  if (context.globals.verbose === true && error instanceof Error) {
    // The first lines are the message, which may be somebody else's text.
    context.printer.log('debug', error.stack?.match(/^ +at .*$/gm)?.join('\n') ?? error.name);
  }
  return report.exitCode;
}
