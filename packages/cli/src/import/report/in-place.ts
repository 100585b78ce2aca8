import { basename } from 'node:path';
import type { Input } from '@shortlink/tables';
import { inputError } from '../errors.ts';
import { isStream } from '../is-stream.ts';
import type { Layout } from '../layout.ts';

/** @throws CliError (exit code 2) when there are no columns that could be filled in */
export function refuseInPlace(
  { name, packing }: Pick<Input, 'name' | 'packing'>,
  { plan: { format, hasHeader } }: Layout,
): void {
  const isTable = (format === 'csv' || format === 'tsv') && hasHeader;
  if (packing !== undefined || (!isTable && format !== 'jsonl')) {
    throw refused(name, 'it needs a table with a header, or JSON Lines, as plain text');
  }
}

/** @throws CliError (exit code 2) for a pipe or device, which can't be replaced, before it is read */
export function refuseStreamInPlace(file: string): void {
  if (isStream(file)) throw refused(basename(file), 'it is no regular file');
}

function refused(name: string, why: string) {
  return inputError(
    `--in-place can't be used with ${name}: ${why}`,
    'Without --in-place, the results go into a file of their own.',
  );
}
