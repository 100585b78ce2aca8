import type { ExitCode } from './cli-error.ts';
import type { Io } from './io.ts';
import { VERSION } from './version.ts';

/**
 * The whole tool: gets the arguments and its surroundings, returns the exit code. Never rejects and never ends the process.
 *
 * @param argv - the arguments after the program's name
 */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  // Scripts ask for the version often, and it can be printed without loading commander.
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    io.stdout.write(`${VERSION}\n`);
    return 0;
  }
  // Tab must not print anything but words to choose from into what somebody is typing.
  if (argv[0] === '__complete') {
    const { complete } = await import('./commands/completion/complete.ts');
    const offers = await complete(argv.slice(1), io).catch(() => '');
    io.stdout.write(offers ?? '');
    return offers === undefined ? 1 : 0;
  }
  const { runCommand } = await import('./run-command.ts');
  return runCommand(argv, io);
}
