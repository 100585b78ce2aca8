import { open } from 'node:fs/promises';
import { constants, gunzipSync } from 'node:zlib';
import { inputError, systemReason } from './errors.ts';

/** Kinds of file that text is unpacked from. */
export type Packing = 'gzip' | 'xlsx';

const EXPORT = 'Export its table as CSV (UTF-8) first.';
const UNPACK = 'Unpack it first.';
const NO_TABLE = 'Name a file with one link per row.';

/** Binary files by the bytes that they begin with, or have at a position. */
const KINDS: ReadonlyArray<{ magic: string; at?: number; kind: string; hint: string }> = [
  {
    magic: '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1',
    kind: 'an old Excel file (.xls), or one with a password',
    hint: EXPORT,
  },
  { magic: '%PDF', kind: 'a PDF document', hint: EXPORT },
  { magic: 'SQLite format 3\0', kind: 'a SQLite database', hint: EXPORT },
  { magic: 'PAR1', kind: 'a Parquet file', hint: EXPORT },
  { magic: 'Obj\x01', kind: 'an Avro file', hint: EXPORT },
  { magic: 'BZh', kind: 'packed with bzip2', hint: UNPACK },
  { magic: '\xfd7zXZ\0', kind: 'packed with xz', hint: UNPACK },
  { magic: '\x28\xb5\x2f\xfd', kind: 'packed with zstd', hint: UNPACK },
  { magic: 'ustar', at: 257, kind: 'a tar archive', hint: UNPACK },
  { magic: '7z\xbc\xaf\x27\x1c', kind: 'a 7-Zip archive', hint: UNPACK },
  { magic: 'Rar!\x1a\x07', kind: 'a RAR archive', hint: UNPACK },
  { magic: '\x89PNG', kind: 'a PNG image', hint: NO_TABLE },
  { magic: '\xff\xd8\xff', kind: 'a JPEG image', hint: NO_TABLE },
  { magic: 'GIF8', kind: 'a GIF image', hint: NO_TABLE },
  { magic: '\x7fELF', kind: 'a program', hint: NO_TABLE },
];

const GZIP = '\x1f\x8b';

/** Text is unpacked once. */
const PACKED_KINDS: typeof KINDS = [
  { magic: GZIP, kind: 'packed with gzip again', hint: 'Unpack it once, with: gunzip FILE' },
  { magic: 'PK\x03\x04', kind: 'a spreadsheet or a zip archive', hint: UNPACK },
  ...KINDS,
];

/** Bytes of a file that are looked at; of a packed one, those that are unpacked for it. */
const FIRST_BYTES = 4_096;

/**
 * What the file is packed in, by its first bytes: a name may say anything. Undefined for text.
 * @throws InputError that names the kind of file, when it can't hold rows that we read
 */
export async function sniffPacking(input: {
  path: string;
  name: string;
}): Promise<Packing | undefined> {
  const file = await open(input.path, 'r').catch((cause: unknown) => {
    throw inputError(`${input.name} can't be read: ${systemReason(cause)}`);
  });
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
    const bytes = buffer.subarray(0, bytesRead);
    const start = bytes.toString('latin1');
    if (start.startsWith(GZIP)) {
      const found = kindOf(beginningOf(bytes), PACKED_KINDS);
      if (found === undefined) return 'gzip';
      const what = `packed with gzip, and what is in it is ${found.kind}`;
      throw inputError(`${input.name} is ${what}`, found.hint);
    }
    if (start.startsWith('PK\x03\x04') || start.startsWith('PK\x05\x06')) {
      await checkWorkbook(input.path, input.name);
      return 'xlsx';
    }
    const found = kindOf(start, KINDS);
    if (found !== undefined) throw inputError(`${input.name} is ${found.kind}`, found.hint);
    return undefined;
  } finally {
    await file.close();
  }
}

function kindOf(start: string, kinds: typeof KINDS) {
  return kinds.find(({ magic, at = 0 }) => start.startsWith(magic, at));
}

/** What the beginning of a gzip file unpacks to; what can't be unpacked is reported with its line when it is read. */
function beginningOf(packed: Buffer): string {
  try {
    // A file that is cut off here is no error.
    return gunzipSync(packed, { finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1');
  } catch {
    return '';
  }
}

/** Looks into the directory of a zip archive: is it a workbook? */
async function checkWorkbook(path: string, name: string): Promise<void> {
  const names = await listParts(path).catch(() => {
    throw inputError(
      `${name} is a spreadsheet or a zip archive, and its end is missing`,
      'It was probably not copied or downloaded completely.',
    );
  });
  if (names.includes('xl/workbook.xml')) return;
  const found = DOCUMENTS.find(([part]) => names.some((name) => part.test(name)));
  throw inputError(`${name} is ${found?.[1] ?? 'a zip archive'}`, found ? EXPORT : UNPACK);
}

/** Documents that are zip archives, by a part that each of them has. */
const DOCUMENTS = [
  [/^xl\/workbook\.bin$/, 'a binary Excel workbook (.xlsb)'],
  [/^word\/document\.xml$/, 'a Word document'],
  [/^content\.xml$/, 'an OpenDocument file (such as .ods)'],
  [/\.numbers$|^Index\//, 'a Numbers document'],
] as const;

async function listParts(path: string): Promise<string[]> {
  const { default: yauzl } = await import('yauzl');
  const zip = await yauzl.openPromise(path, { autoClose: false });
  try {
    const names: string[] = [];
    for await (const { fileName } of zip.eachEntry()) names.push(fileName);
    return names;
  } finally {
    zip.close();
  }
}
