import { type FileHandle, open } from 'node:fs/promises';
import { inputError, systemReason } from '../errors.ts';

/** Kinds of file that text is unpacked from. */
export type Packing = 'gzip' | 'xlsx';

/** Binary files by the bytes that they begin with. */
const KINDS: ReadonlyArray<{ magic: string; kind: string; hint: string }> = [
  {
    magic: '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1',
    kind: 'an old Excel file (.xls) or another Office 97 document',
    hint: 'Save it as .xlsx or as CSV (UTF-8).',
  },
  { magic: '%PDF', kind: 'a PDF document', hint: 'Export its table as CSV.' },
  {
    magic: 'SQLite format 3\0',
    kind: 'a SQLite database',
    hint: 'Export the table first, for example: sqlite3 -csv -header FILE "SELECT ..." > links.csv',
  },
  { magic: 'PAR1', kind: 'a Parquet file', hint: 'Export it as CSV or JSON Lines first.' },
  { magic: 'Obj\x01', kind: 'an Avro file', hint: 'Export it as CSV or JSON Lines first.' },
  {
    magic: 'BZh',
    kind: 'packed with bzip2',
    hint: 'Unpack it: bunzip2 -c FILE | shortlink import -',
  },
  {
    magic: '\xfd7zXZ\0',
    kind: 'packed with xz',
    hint: 'Unpack it: xz -dc FILE | shortlink import -',
  },
  {
    magic: '\x28\xb5\x2f\xfd',
    kind: 'packed with zstd',
    hint: 'Unpack it: zstd -dc FILE | shortlink import -',
  },
  { magic: '7z\xbc\xaf\x27\x1c', kind: 'a 7-Zip archive', hint: 'Unpack it first.' },
  { magic: 'Rar!\x1a\x07', kind: 'a RAR archive', hint: 'Unpack it first.' },
  { magic: '\x89PNG', kind: 'a PNG image', hint: 'Name a file with one link per row.' },
  { magic: '\xff\xd8\xff', kind: 'a JPEG image', hint: 'Name a file with one link per row.' },
  { magic: 'GIF8', kind: 'a GIF image', hint: 'Name a file with one link per row.' },
  { magic: '\x7fELF', kind: 'a program', hint: 'Name a file with one link per row.' },
];

const LONGEST_MAGIC = 16;

/**
 * What the file is packed in, by its first bytes: a name may say anything. Undefined for text.
 *
 * @throws CliError (exit code 2) that names the kind of file, when it can't hold rows that we read
 */
export async function sniffPacking(input: {
  path: string;
  name: string;
}): Promise<Packing | undefined> {
  const file = await open(input.path, 'r').catch((cause: unknown) => {
    throw inputError(`${input.name} can't be read: ${systemReason(cause)}`);
  });
  try {
    const start = (await readAt(file, 0, LONGEST_MAGIC)).toString('latin1');
    if (start.startsWith('\x1f\x8b')) return 'gzip';
    if (start.startsWith('PK\x03\x04') || start.startsWith('PK\x05\x06')) {
      await checkWorkbook(file, input.name);
      return 'xlsx';
    }
    const found = KINDS.find(({ magic }) => start.startsWith(magic));
    if (found !== undefined) throw inputError(`${input.name} is ${found.kind}`, found.hint);
    return undefined;
  } finally {
    await file.close();
  }
}

/** Bytes of the unpacked parts of a workbook: its sheet and texts are held in memory while they are read. */
const MAX_WORKBOOK_BYTES = 2 ** 30;

/** The directory of a zip archive ends with a record of 22 bytes and a comment of at most 65,535. */
const MAX_END_BYTES = 22 + 65_535;
const ENTRY_BYTES = 46;

/** Looks into the directory at the end of a zip archive: is it a workbook, and of what size once it is unpacked? */
async function checkWorkbook(file: FileHandle, name: string): Promise<void> {
  const { size } = await file.stat();
  const tail = await readAt(file, Math.max(0, size - MAX_END_BYTES), MAX_END_BYTES);
  const end = tail.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  if (end === -1 || end + 22 > tail.length) {
    throw inputError(
      `${name} is a spreadsheet or a zip archive, and its end is missing`,
      'It was probably not copied or downloaded completely.',
    );
  }
  const directory = await readAt(file, tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12));
  const names: string[] = [];
  let unpacked = 0;
  for (let at = 0; at + ENTRY_BYTES <= directory.length; ) {
    const nameEnd = at + ENTRY_BYTES + directory.readUInt16LE(at + 28);
    unpacked += directory.readUInt32LE(at + 24);
    names.push(directory.toString('utf8', at + ENTRY_BYTES, nameEnd));
    at = nameEnd + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  if (!names.includes('xl/workbook.xml')) {
    throw inputError(`${name} is ${zipKind(names)}`, zipHint(names));
  }
  if (unpacked > MAX_WORKBOOK_BYTES) {
    throw inputError(
      `${name} holds ${Math.round(unpacked / 2 ** 20)} MiB once it is unpacked, too much for a spreadsheet`,
      'In the spreadsheet program, save the sheet as CSV (UTF-8): a CSV file may have any size.',
    );
  }
}

function zipKind(names: readonly string[]): string {
  if (names.includes('xl/workbook.bin')) return 'a binary Excel workbook (.xlsb)';
  if (names.includes('word/document.xml')) return 'a Word document';
  if (names.includes('content.xml')) return 'an OpenDocument file (such as .ods)';
  if (names.some((entry) => entry.endsWith('.numbers') || entry.startsWith('Index/'))) {
    return 'a Numbers document';
  }
  return 'a zip archive';
}

function zipHint(names: readonly string[]): string {
  return zipKind(names) === 'a zip archive'
    ? 'Unpack it, and import the file that is in it.'
    : 'Save its table as .xlsx or as CSV (UTF-8).';
}

/** The bytes at a position, fewer at the end of the file. The length comes from the file, so it is not trusted. */
async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { size } = await file.stat();
  const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - position)));
  const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
  return buffer.subarray(0, bytesRead);
}
