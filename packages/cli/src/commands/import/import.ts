import type { Command } from 'commander';
import { EXIT_CODES, type ExitCode } from '../../cli-error.ts';
import type { Perform } from '../declare.ts';
import { examples, heading } from '../help.ts';
import { addImportOptions, type ImportOptions } from './options.ts';
import { parseImport } from './parse-import.ts';

export function declareImport(program: Command, perform: Perform): void {
  const command = program
    .command('import')
    .description(
      'Create a short link for each row of a file: CSV, TSV, JSON lines, a list of URLs (also gzipped) of any size, or an .xlsx workbook. The whole file is checked before anything is sent, and the same command, whenever it runs, creates only the links that do not exist yet.',
    )
    .argument('<file...>', 'input files, one after the other; - is standard input');
  addImportOptions(command)
    .addHelpText('after', EXAMPLES + EXIT_CODES_HELP)
    .action((files: string[], options: ImportOptions, self: Command) =>
      perform(self, async (context) => {
        const input = parseImport(files, options);
        const { importFiles } = await import('./import-files.ts');
        return importFiles(input, context);
      }),
    );
}

const EXAMPLES = examples(
  'shortlink import links.csv',
  'shortlink import links.csv --dry-run',
  'shortlink import export.csv --map target_url="Long URL" --map tags=Labels',
  'shortlink import links.csv --in-place',
  'cat urls.txt | shortlink import - > results.csv',
  'shortlink import links.csv --rpm 60 --max-wait 26h --json',
);

/** What each exit code of the tool means for an import. */
const MEANINGS: Readonly<Record<ExitCode, string>> = {
  [EXIT_CODES.ok]: 'every row has its link',
  [EXIT_CODES.error]: 'unexpected error',
  [EXIT_CODES.usage]: 'wrong usage or input',
  [EXIT_CODES.rowsFailed]: 'some rows rejected or failed',
  [EXIT_CODES.authentication]: 'authentication or permission',
  [EXIT_CODES.planLimit]: 'plan limit',
  [EXIT_CODES.rateLimit]: 'rate limit longer than --max-wait',
  [EXIT_CODES.unknownFate]: 'unknown whether some links exist',
  [EXIT_CODES.interrupted]: 'interrupted',
};

const EXIT_CODES_HELP = [
  '\n',
  heading('Exit codes:'),
  ...Object.entries(MEANINGS).map(([code, meaning]) => `${code.padStart(5)}  ${meaning}`),
].join('\n');
