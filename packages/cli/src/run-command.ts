import { EXIT_CODES, type ExitCode } from './cli-error.ts';
import { Context, type GlobalOptions } from './context.ts';
import type { Io } from './io.ts';
import { buildProgram, commandOf, describeUsageError, isHelpOrVersion } from './program.ts';

/** Parses the command line, runs the command, and turns any error into a message and an exit code. */
export async function runCommand(argv: readonly string[], io: Io): Promise<ExitCode> {
  // Before the command line is parsed, only the options that say how to print an error are known.
  let context = new Context(io, argv, unparsedGlobals(argv));
  let exitCode: ExitCode = EXIT_CODES.ok;
  const isJson = context.printer.options.json;
  const program = buildProgram(io, isJson, async (command, act) => {
    context = new Context(io, argv, command.optsWithGlobals<GlobalOptions>());
    exitCode = await act(context);
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (isHelpOrVersion(error)) return EXIT_CODES.ok;
    const usage = describeUsageError(error);
    return usage === undefined
      ? fail(error, context)
      : failUsage(usage, commandOf(argv, program), context);
  }
}

function unparsedGlobals(argv: readonly string[]): GlobalOptions {
  return { json: argv.includes('--json'), color: !argv.includes('--no-color') };
}

function failUsage(message: string, command: string, context: Context): ExitCode {
  const isHelp = message === HELP_SHOWN;
  const { json } = context.printer.options;
  // A command without its subcommand has printed its help, but with --json.
  if (!isHelp || json) {
    context.printer.error({
      code: 'usage',
      message: isHelp ? `${command} needs a subcommand.` : message,
      hint: `See: ${command} --help`,
      exitCode: EXIT_CODES.usage,
    });
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
    // Without its first lines, which are the message: that may be somebody else's text.
    context.printer.log('debug', error.stack?.match(/^ +at .*$/gm)?.join('\n') ?? error.name);
  }
  return report.exitCode;
}
