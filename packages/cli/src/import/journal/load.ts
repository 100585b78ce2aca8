import type { FileHandle } from 'node:fs/promises';
import { inputError } from '../errors.ts';
import { BatchIndex } from './batch-index.ts';
import { parseRecord } from './parse-record.ts';
import { type HeaderRecord, JOURNAL_VERSION } from './records.ts';

const CHUNK_BYTES = 256 * 1024;
const LF = 10;

/** What a journal file holds. */
export interface LoadedJournal {
  header: HeaderRecord;
  batches: BatchIndex;
  finished: boolean;
  /** Bytes that are whole records; what is beyond them is the torn last line of a killed run. */
  goodBytes: number;
}

/**
 * Reads a journal; undefined when it holds not even a whole header, so that nothing was ever sent under it.
 *
 * @throws CliError (exit code 2) when the file is no journal, is of a newer release, or is damaged in the middle
 */
export async function loadJournal(
  handle: FileHandle,
  path: string,
): Promise<LoadedJournal | undefined> {
  let header: HeaderRecord | undefined;
  const batches = new BatchIndex();
  let finished = false;
  let goodBytes = 0;
  let damagedLine: number | undefined;
  let number = 0;
  for await (const line of readLines(handle)) {
    number += 1;
    if (number === 1) {
      const record = checkFirstLine(line, path);
      if (record === undefined) break;
      header = checkVersion(record, path);
    } else {
      if (damagedLine !== undefined) throw damaged(path, damagedLine);
      const record = line.isWhole ? parseRecord(line.text) : undefined;
      if (record === undefined || record.t === 'header') {
        damagedLine = number;
        continue;
      }
      if (record.t === 'finished') finished = true;
      else batches.apply(record, { offset: line.offset, length: line.length });
    }
    goodBytes = line.offset + line.length;
  }
  return header === undefined ? undefined : { header, batches, finished, goodBytes };
}

/**
 * Makes sure that a file which is about to be set aside is a journal, whole or not, or empty.
 *
 * @throws CliError (exit code 2) when it is something else
 */
export async function checkIsJournal(handle: FileHandle, path: string): Promise<void> {
  for await (const line of readLines(handle)) {
    checkFirstLine(line, path);
    return;
  }
}

/** The header; undefined when it was cut while it was written. */
function checkFirstLine(line: Line, path: string): HeaderRecord | undefined {
  const record = line.isWhole ? parseRecord(line.text) : undefined;
  if (record?.t === 'header') return record;
  if (!line.isWhole && couldBeHeader(line.text)) return undefined;
  throw inputError(`${path} is not an import journal`, 'Name another file: --journal FILE');
}

interface Line {
  text: string;
  /** Where it begins, and its length with its line feed, in bytes. */
  offset: number;
  length: number;
  /** Whether its line feed is there. */
  isWhole: boolean;
}

/** Lines with their places in bytes, one at a time: that of a large batch has megabytes. */
async function* readLines(handle: FileHandle): AsyncGenerator<Line> {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let parts: Buffer[] = [];
  let lineOffset = 0;
  let position = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    let from = 0;
    for (;;) {
      const lf = buffer.subarray(0, bytesRead).indexOf(LF, from);
      if (lf === -1) break;
      const text = Buffer.concat([...parts, buffer.subarray(from, lf)]).toString();
      const end = position + lf + 1;
      yield { text, offset: lineOffset, length: end - lineOffset, isWhole: true };
      parts = [];
      from = lf + 1;
      lineOffset = end;
    }
    parts.push(Buffer.from(buffer.subarray(from, bytesRead)));
    position += bytesRead;
  }
  const text = Buffer.concat(parts).toString();
  if (text !== '') {
    yield { text, offset: lineOffset, length: position - lineOffset, isWhole: false };
  }
}

/** Whether a file's only, unfinished line may be a header that was cut while it was written. */
function couldBeHeader(text: string): boolean {
  const beginning = '{"t":"header",';
  return beginning.startsWith(text.slice(0, beginning.length));
}

function checkVersion(header: HeaderRecord, path: string): HeaderRecord {
  if (header.v === JOURNAL_VERSION) return header;
  throw inputError(
    `${path} was written by another release (its version is ${header.v}, ours ${JOURNAL_VERSION})`,
    'Go on with the release that began this import.',
  );
}

function damaged(path: string, line: number) {
  return inputError(
    `${path} is damaged at line ${line}, so what was sent is not known for certain`,
    'Look at the file. --restart sets it aside and sends every row again, also those that were created.',
  );
}
