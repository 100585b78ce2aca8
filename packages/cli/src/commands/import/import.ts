import { statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { usageError } from '../../cli-error.ts';
import { isStream } from '../../import/is-stream.ts';
import type { ImportSettings, OutputFormat } from '../../import/types.ts';
import { declareCommand, linkFields, type Perform, STANDARD_STREAM } from '../declare.ts';
import { addImportOptions, type ImportOptions } from './options.ts';

/** The settings of a file before the account is known. */
type FileSettings = Omit<ImportSettings, 'baseUrl'>;

export interface ImportInput {
  files: FileSettings[];
  /** What to say of each file that was named and is not imported. */
  leftOut: string[];
  options: ImportOptions;
}

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

/** @throws CliError for options that contradict each other */
function parseImport(files: readonly string[], options: ImportOptions): ImportInput {
  const stream = files.find(isStream);
  if (files.length > 1 && stream !== undefined) {
    const name = stream === STANDARD_STREAM ? 'Standard input (-)' : `The pipe ${stream}`;
    throw usageError(`${name} is imported alone.`);
  }
  const all = files.map((file) => fileSettings(file, options));
  const own = new Map(all.map((one) => [one, contentOf(one, all)]));
  const given = all.filter((one) => own.get(one) === undefined);
  refuseSharedFiles(given, options.summary);
  const leftOut = all.filter((one) => !given.includes(one));
  const why = (one: FileSettings) => `${one.file} is not imported: it has the ${own.get(one)}.`;
  if (given.length === 0) throw usageError(leftOut.map(why).join(' '));
  return { files: given, leftOut: leftOut.map(why), options };
}

/** What a file holds, if it is not to be imported: `import *.csv` a second time finds what the first has written, also for other sheets. */
function contentOf({ file }: FileSettings, all: readonly FileSettings[]): string | undefined {
  if (/^~\$.*xls/i.test(basename(file))) return 'lock of an open workbook';
  const [, base, kind] = /^(.+)\.(results|rejects|verify)\.\w+$/.exec(resolve(file)) ?? [];
  const part = kind === 'rejects' ? 'rejects' : 'output';
  const nameOf = (one: FileSettings) => resolve(dirname(one[part]), basename(one.file));
  const writer = all.find((by) => by.usualNames?.[part] && `${base}.`.startsWith(`${nameOf(by)}.`));
  return writer && `${kind === 'verify' ? 'report' : kind} of ${writer.file}`;
}

function fileSettings(file: string, options: ImportOptions): FileSettings {
  const { output, format } = outputOf(file, options);
  const base = baseOf(file, options);
  return {
    ...options,
    map: options.map ?? {},
    file,
    output,
    outputFormat: format,
    usualNames: {
      output: !options.inPlace && options.output === undefined,
      rejects: options.rejects === undefined,
    },
    rejects: options.rejects ?? `${base}.rejects.csv`,
    journal:
      options.journal ?? (isStream(file) ? { folder: dirname(base) } : `${base}.shortlink-journal`),
    defaults: linkFields(options),
    addTags: options.addTag,
    listsRows: options.summary !== undefined,
    requestsPerMinute: options.rpm,
  };
}

/** What the names of the files that belong to an input begin with. Each sheet that `--sheet` names has files of its own. */
export function nameFor(file: string, sheet: string | undefined): string {
  return sheet === undefined ? file : `${file}.${sheet.replaceAll(/[\\/:*?"<>|]/g, '_')}`;
}

/** The path that these files begin with: beside the input; for standard input and pipes, in the current folder. */
function baseOf(file: string, { stateDir, sheet }: ImportOptions): string {
  const name = isStream(file) ? 'stdin' : nameFor(file, sheet);
  return stateDir === undefined ? name : join(stateDir, basename(name));
}

function outputOf(file: string, options: ImportOptions): { output: string; format: OutputFormat } {
  const named = options.inPlace ? file : options.output;
  if (options.inPlace) refuseBesideInPlace(file, options);
  // Not every Excel opens a table with commas as columns.
  const format = options.outputFormat ?? formatOf(named ?? file.replace(/\.(jsonl|ndjson)$/i, ''));
  const usual = isStream(file) ? STANDARD_STREAM : `${baseOf(file, options)}.results.${format}`;
  const output = named ?? usual;
  if (format === 'xlsx' && output === STANDARD_STREAM)
    throw usageError('A workbook is not written to standard output: name a file with -o.');
  if (!options.inPlace && format !== 'xlsx' && formatOf(output) === 'xlsx')
    throw usageError(`${output} would be a workbook: leave --output-format ${format} out.`);
  return { output, format };
}

function formatOf(name: string): OutputFormat {
  if (/\.xlsx$/i.test(name)) return 'xlsx';
  return /\.(jsonl|ndjson)$/i.test(name) ? 'jsonl' : 'csv';
}

function refuseBesideInPlace(file: string, { output, outputFormat }: ImportOptions): void {
  if (isStream(file)) throw usageError('--in-place needs a file, not standard input or a pipe.');
  const other = output !== undefined ? '--output' : outputFormat && '--output-format';
  if (other !== undefined) throw usageError(`--in-place and ${other} exclude each other.`);
}

/** What two paths to the same file have in common, also through links. */
export function identityOf(path: string): string {
  try {
    const stats = statSync(path);
    if (stats.isFile()) return `${stats.dev} ${stats.ino}`;
  } catch {
    // A file that is not there has its path alone.
  }
  return resolve(path);
}

/** No file of ours may be an input, nor another file of ours. */
function refuseSharedFiles(all: readonly FileSettings[], summary: string | undefined): void {
  const roles = new Map<string, string>();
  if (summary === STANDARD_STREAM)
    throw usageError('--summary must be a file. With --json, it is on standard output.');
  if (summary !== undefined) roles.set(identityOf(summary), '--summary');
  for (const { file, inPlace, output, rejects, journal } of all) {
    const of = all.length > 1 ? ` of ${file}` : '';
    for (const [role, path] of [
      [INPUT, file],
      [`--output${of}`, inPlace ? undefined : output],
      [`--rejects${of}`, rejects],
      [`--journal${of}`, journal],
    ] as const) {
      if (typeof path !== 'string') continue;
      if (path === STANDARD_STREAM && /^--[rj]/.test(role))
        throw usageError(`${role} must be a file, not standard output.`);
      const identity = path === STANDARD_STREAM ? `${path} ${role === INPUT}` : identityOf(path);
      const other = roles.get(identity);
      if (other === INPUT && role === INPUT) throw usageError(`${path} is given twice.`);
      if (other !== undefined) throw usageError(`${role} and ${other} are the same file: ${path}`);
      roles.set(identity, role);
    }
  }
  for (const known of all.flatMap((settings) => settings.known ?? [])) {
    const role = roles.get(identityOf(known));
    // Known files that are the input or the results stay, or are kept.
    if (role === undefined || /^(?:the input|--output)/.test(role)) continue;
    throw usageError(`--known and ${role} are the same file: ${known}`);
  }
}

const INPUT = 'the input';
