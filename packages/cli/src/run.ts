import { Context, type GlobalOptions } from './context.ts';
import { EXIT_CODES, type ExitCode } from './exit-codes.ts';
import type { Io } from './io.ts';
import { VERSION } from './version.ts';

/**
 * The whole tool: arguments and the world in, exit code out. Never rejects and never ends the process.
 *
 * @param argv - the arguments after the program's name
 */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  // Scripts ask for the version often, and it needs none of the command line's machinery.
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    io.stdout.write(`${VERSION}\n`);
    return EXIT_CODES.ok;
  }
  // Until the command line is parsed, only how to print an error about it is known.
  let context = new Context(io, argv, unparsedGlobals(argv));
  let exitCode: ExitCode = EXIT_CODES.ok;
  const { buildProgram, describeUsageError, isHelpOrVersion } = await import('./program.ts');
  const program = buildProgram(io, async (command, act) => {
    context = new Context(io, argv, command.optsWithGlobals<GlobalOptions>());
    exitCode = await act(context);
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (isHelpOrVersion(error)) {
      return EXIT_CODES.ok;
    }
    const usage = describeUsageError(error);
    return usage === undefined ? fail(error, context) : failUsage(usage, context);
  }
}

function unparsedGlobals(argv: readonly string[]): GlobalOptions {
  return { json: argv.includes('--json'), color: !argv.includes('--no-color') };
}

function failUsage(message: string, context: Context): ExitCode {
  // A command without its subcommand prints its help, and has no message of its own.
  if (message !== HELP_SHOWN) {
    const hint = 'See: shortlink --help';
    context.printer.error({ code: 'usage', message, hint, exitCode: EXIT_CODES.usage });
  }
  return EXIT_CODES.usage;
}

/** Message of commander's error after it printed help to stderr. */
const HELP_SHOWN = '(outputHelp)';

async function fail(error: unknown, context: Context): Promise<ExitCode> {
  const { describeError } = await import('./output/describe-error.ts');
  const report = await describeError(error);
  context.printer.error(report);
  if (context.globals.verbose === true && error instanceof Error) {
    context.printer.trace(error.stack ?? error.message);
  }
  return report.exitCode;
}
