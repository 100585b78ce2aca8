import type { Command } from 'commander';
import { declareCommand, type Perform } from '../declare.ts';
import { addImportOptions, type ImportOptions } from './options.ts';
import { parseImport } from './parse-import.ts';

export function declareImport(program: Command, perform: Perform): void {
  const command = declareCommand(program, perform, {
    name: 'import',
    description:
      'Create a short link for each row of a file: CSV, TSV, JSON lines, a list of URLs (also gzipped) of any size, or an .xlsx workbook. The whole file is checked before anything is sent, and the same command, whenever it runs, creates only the links that do not exist yet.',
    tries: [
      'shortlink import links.csv',
      'shortlink import links.csv --dry-run',
      'shortlink import export.csv --map target_url="Long URL" --map tags=Labels',
      'shortlink import links.csv --in-place',
      'cat urls.txt | shortlink import - > results.csv',
      'shortlink import links.csv --rpm 60 --max-wait 26h --json',
    ],
    act: async (context, files: string[], options: ImportOptions) => {
      const input = parseImport(files, options);
      const { importFiles } = await import('./import-files.ts');
      return importFiles(input, context);
    },
  });
  command.argument('<file...>', 'input files, one after the other; - is standard input');
  addImportOptions(command);
}
