import { Command } from 'commander';
import { declareAuth } from './commands/auth.ts';
import { declareCompletion } from './commands/completion/completion.ts';
import { declareConfig } from './commands/config.ts';
import { declareCreate } from './commands/create.ts';
import { type Perform, parseCount, parseDuration } from './commands/declare.ts';
import { examples, HELP } from './commands/help.ts';
import { declareImport } from './commands/import/import.ts';
import { declareJob } from './commands/job.ts';
import { declareUsage } from './commands/usage.ts';
import { declareVerify } from './commands/verify/verify.ts';
import type { Io } from './io.ts';
import { wantsColor } from './output/style.ts';
import { VERSION } from './version.ts';

/** The whole command line, which shells complete too. With `--json`, stderr holds events only, and no help. */
export function buildProgram(io: Io, isJson: boolean, perform: Perform): Command {
  const program = new Command('shortlink')
    .description('Create short links, one at a time or from files of any size.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'Print the help of a command')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => !isJson && io.stderr.write(text),
      // Only run-command.ts prints errors.
      outputError: () => {},
      getOutHelpWidth: () => io.stdout.columns || DEFAULT_WIDTH,
      getErrHelpWidth: () => io.stderr.columns || DEFAULT_WIDTH,
      getOutHasColors: () => wantsColor(io.stdout, io.env),
      getErrHasColors: () => wantsColor(io.stderr, io.env),
    })
    .configureHelp(HELP)
    .optionsGroup('Global options:')
    .option(
      '--api-key <key>',
      'API key; better in SHORTLINK_API_KEY, since other users see the command line',
    )
    .option('--base-url <url>', 'address of the service, without /api/v1 (or SHORTLINK_BASE_URL)')
    .option('--profile <name>', 'settings to use from the config file (or SHORTLINK_PROFILE)')
    .option('--json', 'print JSON: results to stdout, messages to stderr')
    .option('-q, --quiet', 'print no progress and no summary')
    .option('-v, --verbose', 'print each request and retry to stderr')
    .option('--no-color', 'print without colours')
    .option('--timeout <duration>', 'longest time of one request (default: 30s)', parseDuration)
    .option(
      '--max-retries <n>',
      'how often a failed request is sent again (default: 5)',
      parseCount(0, MAX_RETRIES),
    )
    .addHelpText('after', EXAMPLES);
  for (const declare of COMMANDS) declare(program, perform);
  return program;
}

/** All commands, in the order of the help. */
const COMMANDS = [
  ...[declareCreate, declareImport, declareJob, declareVerify],
  ...[declareUsage, declareAuth, declareConfig, declareCompletion],
];

const DEFAULT_WIDTH = 80;
const MAX_RETRIES = 1000;

const EXAMPLES = examples(
  'shortlink auth login',
  'shortlink create https://example.com/docs',
  'shortlink import links.csv',
  'shortlink usage',
);
