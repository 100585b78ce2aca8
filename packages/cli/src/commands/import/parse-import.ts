import { statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { usageError } from '../../cli-error.ts';
import type { ImportSettings, OutputFormat } from '../../import/types.ts';
import { parseRedirectType } from '../declare.ts';
import type { ImportOptions } from './options.ts';

/** What one file is imported with, before the account is known. */
type FileSettings = Omit<ImportSettings, 'baseUrl'>;

/** Input of `shortlink import`. */
export interface ImportInput {
  files: FileSettings[];
  options: ImportOptions;
}

/** Standard input, and standard output. */
export const STANDARD_STREAM = '-';

/** @throws CliError for options that contradict each other */
export function parseImport(files: readonly string[], options: ImportOptions): ImportInput {
  refuseSharedFiles(files, options);
  const settings = files.map((file) => fileSettings(file, options));
  for (const one of settings) {
    refuseOverwriting(one);
  }
  refuseOwnOutputs(settings);
  return { files: settings, options };
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
      options.journal ??
      (file === STANDARD_STREAM ? { folder: dirname(base) } : `${base}.shortlink-journal`),
    defaults: {
      tags: options.tag,
      domain_id: options.domain,
      redirect_type: parseRedirectType(options.redirectType),
    },
    addTags: options.addTag,
    requestsPerMinute: options.rpm,
  };
}

/** Where the names of the files that belong to an input begin: beside it; for standard input, in the current folder. */
function baseOf(file: string, { stateDir }: ImportOptions): string {
  const name = file === STANDARD_STREAM ? 'stdin' : file;
  return stateDir === undefined ? name : join(stateDir, basename(name));
}

function outputOf(file: string, options: ImportOptions): { output: string; format: OutputFormat } {
  const named = options.inPlace ? file : options.output;
  if (options.inPlace) refuseBesideInPlace(file, options);
  const byName = named !== undefined && /\.(jsonl|ndjson)$/i.test(named) ? 'jsonl' : 'csv';
  const format = options.outputFormat ?? byName;
  const usual =
    file === STANDARD_STREAM ? STANDARD_STREAM : `${baseOf(file, options)}.results.${format}`;
  return { output: named ?? usual, format };
}

function refuseBesideInPlace(file: string, options: ImportOptions): void {
  if (file === STANDARD_STREAM) throw usageError('--in-place needs a file, not standard input.');
  const other = options.output !== undefined ? '--output' : '--output-format';
  if (options.output !== undefined || options.outputFormat !== undefined) {
    throw usageError(`--in-place and ${other} exclude each other.`);
  }
}

/** What two paths have in common that lead to the same file, also through links. */
function identityOf(path: string): string {
  try {
    const stats = statSync(path);
    if (stats.isFile()) return `${stats.dev} ${stats.ino}`;
  } catch {
    // What is not there yet, or can't be reached, has its path alone.
  }
  return resolve(path);
}

/** Several inputs would write over each other's files. */
function refuseSharedFiles(files: readonly string[], options: ImportOptions): void {
  if (files.length < 2) return;
  for (const name of ['output', 'rejects', 'journal'] as const) {
    if (options[name] !== undefined) {
      throw usageError(
        `--${name} names one file, but ${files.length} are imported.`,
        'Leave it out, and each input gets its own; or import one file at a time.',
      );
    }
  }
  if (files.includes(STANDARD_STREAM)) throw usageError('Standard input (-) is imported alone.');
  const seen = new Map<string, string>();
  for (const file of files) {
    if (seen.has(identityOf(file))) throw usageError(`${file} is given twice.`);
    const base = resolve(baseOf(file, options));
    const other = seen.get(base);
    if (other !== undefined) {
      throw usageError(`${other} and ${file} would share their files in --state-dir.`);
    }
    seen.set(identityOf(file), file).set(base, file);
  }
}

/** No file of ours may be the input, nor another file of ours. */
function refuseOverwriting(settings: FileSettings): void {
  const used = new Map<string, string>();
  for (const [role, path] of [
    ['the input', settings.file],
    ['--output', settings.inPlace ? undefined : settings.output],
    ['--rejects', settings.rejects],
    ['--journal', settings.journal],
  ] as const) {
    if (typeof path !== 'string') continue;
    if (path === STANDARD_STREAM) {
      if (role === '--rejects' || role === '--journal') {
        throw usageError(`${role} must be a file, not standard output.`);
      }
      continue;
    }
    const file = identityOf(path);
    const other = used.get(file);
    if (other !== undefined) throw usageError(`${role} and ${other} are the same file: ${path}`);
    used.set(file, role);
  }
}

/** `import *.csv` a second time would also import the results of the first. */
function refuseOwnOutputs(all: readonly FileSettings[]): void {
  const inputs = new Set(all.map(({ file }) => identityOf(file)));
  for (const { file, output, rejects, inPlace } of all) {
    for (const path of inPlace ? [rejects] : [output, rejects]) {
      if (path !== STANDARD_STREAM && inputs.has(identityOf(path))) {
        throw usageError(
          `${path} was written by the import of ${file}, and is given as an input too.`,
        );
      }
    }
  }
}
