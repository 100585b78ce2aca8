import { resolve } from 'node:path';
import { usageError } from '../../cli-error.ts';
import type { ImportSettings, OutputFormat } from '../../import/types.ts';
import { parseRedirectType } from '../option-values.ts';
import type { ImportOptions } from './options.ts';

/** What one file is imported with, before the account is known. */
export type FileSettings = Omit<ImportSettings, 'target'>;

/** What `shortlink import` was told. */
export interface ImportInput {
  files: FileSettings[];
  dryRun: boolean;
  idempotency: boolean;
  requestsPerMinute: number | undefined;
  maxRetryAfterMs: number;
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
  return {
    files: settings,
    dryRun: options.dryRun === true,
    idempotency: options.idempotency === true,
    requestsPerMinute: options.rpm,
    maxRetryAfterMs: options.maxWait,
  };
}

function fileSettings(file: string, options: ImportOptions): FileSettings {
  const { output, format } = outputOf(file, options);
  // Files beside the input; those of standard input go to the current folder.
  const base = file === STANDARD_STREAM ? 'stdin' : file;
  return {
    file,
    map: options.map ?? {},
    inputFormat: options.inputFormat,
    delimiter: options.delimiter,
    tagSeparator: options.tagSeparator,
    encoding: options.encoding,
    sheet: options.sheet,
    skipLines: options.skipLines,
    output,
    outputFormat: format,
    rejects: options.rejects ?? `${base}.rejects.csv`,
    journal: options.journal ?? `${base}.shortlink-journal`,
    restart: options.restart === true,
    defaults: {
      tags: options.tag,
      domain_id: options.domain,
      redirect_type: parseRedirectType(options.redirectType),
    },
    batchSize: options.batchSize,
    concurrency: options.concurrency,
    dryRun: options.dryRun === true,
    maxRejects: options.maxRejects,
    onUnknown: options.onUnknown,
    idempotency: options.idempotency === true,
  };
}

function outputOf(file: string, options: ImportOptions): { output: string; format: OutputFormat } {
  const named = options.output;
  const byName = named !== undefined && /\.(jsonl|ndjson)$/i.test(named) ? 'jsonl' : 'csv';
  const format = options.outputFormat ?? byName;
  const usual = file === STANDARD_STREAM ? STANDARD_STREAM : `${file}.results.${format}`;
  return { output: named ?? usual, format };
}

/** Several inputs would write over each other's files. */
function refuseSharedFiles(files: readonly string[], options: ImportOptions): void {
  if (files.length < 2) {
    return;
  }
  for (const name of ['output', 'rejects', 'journal'] as const) {
    if (options[name] !== undefined) {
      throw usageError(
        `--${name} names one file, but ${files.length} are imported.`,
        'Leave it out, and each input gets its own; or import one file at a time.',
      );
    }
  }
  if (files.includes(STANDARD_STREAM)) {
    throw usageError('Standard input (-) is imported alone.');
  }
  const seen = new Set<string>();
  for (const file of files) {
    if (seen.has(resolve(file))) {
      throw usageError(`${file} is given twice.`);
    }
    seen.add(resolve(file));
  }
}

/** No file of ours may be the input, nor another file of ours. */
function refuseOverwriting(settings: FileSettings): void {
  const used = new Map<string, string>();
  for (const [role, path] of [
    ['the input', settings.file],
    ['--output', settings.output],
    ['--rejects', settings.rejects],
    ['--journal', settings.journal],
  ] as const) {
    if (path === STANDARD_STREAM) {
      if (role === '--rejects' || role === '--journal') {
        throw usageError(`${role} must be a file, not standard output.`);
      }
      continue;
    }
    const other = used.get(resolve(path));
    if (other !== undefined) {
      throw usageError(`${role} and ${other} are the same file: ${path}`);
    }
    used.set(resolve(path), role);
  }
}

/** `import *.csv` a second time would also import the results of the first. */
function refuseOwnOutputs(all: readonly FileSettings[]): void {
  const inputs = new Set(all.map(({ file }) => resolve(file)));
  for (const { file, output, rejects } of all) {
    for (const path of [output, rejects]) {
      if (path !== STANDARD_STREAM && inputs.has(resolve(path))) {
        throw usageError(
          `${path} was written by the import of ${file}, and is given as an input too.`,
        );
      }
    }
  }
}
