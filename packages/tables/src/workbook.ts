import { posix } from 'node:path';
import { SaxesParser } from 'saxes';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { cellNumber, MAX_COLUMNS, type Range, rangeOf } from './book-cells.ts';
import { inputError } from './errors.ts';
import type { SharedTexts } from './shared-texts.ts';

/** Bytes that are unpacked of one workbook. A sheet of a million rows and eight columns has half a GiB. */
const MAX_UNPACKED_BYTES = 8 * 2 ** 30;

/** Characters between two tags. A cell has at most 32,767, each of them written as at most seven. */
export const MAX_TEXT_LENGTH = 256 * 1024;

/** Of what is kept in memory of each kind: linked cells, merged ranges, formats, sheets. Excel itself stores 65,530 links in a sheet. */
const MAX_KEPT = 2 ** 17;

/** Elements within each other. Those of a cell are eight deep. */
const MAX_DEPTH = 100;

export interface Sheet {
  name: string;
  isVisible: boolean;
  /** Of its part in the archive. */
  path: string;
}

/** What stands behind the rows of a sheet: where cells lead, as numbers of texts by {@link cellNumber}, and which are merged. */
interface Places {
  links: Map<number, number>;
  merges: Range[];
}

export type Attributes = Readonly<Record<string, string>>;

/** What happens while XML is read. Names have no prefix. */
interface XmlHandlers {
  open(name: string, attributes: Attributes): void;
  close?(name: string): void;
  text?(text: string): void;
}

/** The parts of an .xlsx workbook. They are read as streams, whatever their size. */
export class Workbook {
  readonly sheets: Sheet[] = [];
  /** Format codes of cells, by their style. */
  readonly formats: string[] = [];
  is1904 = false;
  /** Cells that were read whose formulas have no results. */
  uncalculated = 0;
  /** Path of the texts that cells refer to by number. */
  textsPath: string | undefined;
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #name: string;
  #unpacked = 0;

  private constructor(name: string, zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#name = name;
    this.#zip = zip;
    this.#entries = entries;
  }

  /** @param name - of the file in messages */
  static async open(path: string, name: string): Promise<Workbook> {
    const zip = await yauzl.openPromise(path, { autoClose: false });
    try {
      const entries = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) entries.set(entry.fileName, entry);
      const book = new Workbook(name, zip, entries);
      await book.#readParts();
      return book;
    } catch (error) {
      zip.close();
      throw error;
    }
  }

  close(): void {
    this.#zip.close();
  }

  /** Counts what was unpacked: the sizes that an archive names itself can't be trusted. */
  count(bytes: number): void {
    this.#unpacked += bytes;
    if (this.#unpacked <= MAX_UNPACKED_BYTES) return;
    throw this.tooMuch(`unpacks to more than ${MAX_UNPACKED_BYTES / 2 ** 30} GiB`);
  }

  /** Reads a part. Yields now and then, so that what the handlers have gathered can be taken. */
  async *read(path: string, handlers: XmlHandlers, isBehindRows = false): AsyncGenerator<void> {
    const parser = new SaxesParser({ xmlns: false });
    let quiet = 0;
    let depth = 0;
    parser.on('opentag', ({ name, attributes }) => {
      quiet = 0;
      depth += 1;
      this.limit(depth, MAX_DEPTH, 'elements within each other');
      handlers.open(localName(name), attributes);
    });
    parser.on('closetag', ({ name }) => {
      depth -= 1;
      handlers.close?.(localName(name));
    });
    for (const event of ['text', 'cdata'] as const)
      parser.on(event, (text) => handlers.text?.(text));
    const pieces = this.#decode(path);
    for await (const text of isBehindRows ? behindRows(pieces) : pieces) {
      quiet += text.length;
      parser.write(text);
      if (quiet > MAX_TEXT_LENGTH) throw this.tooLong();
      yield;
    }
    parser.close();
  }

  /**
   * What stands behind the rows of a sheet. The rows themselves are skipped without being parsed.
   * @param texts - gets where the cells lead: a hundred thousand addresses would take more memory than the rest of a sheet
   */
  async places({ path }: Sheet, texts: SharedTexts): Promise<Places> {
    const targets = new Map<string, number>();
    await this.#readRelations(path, (id, _, target) => {
      if (!/^https?:/i.test(target)) return;
      targets.set(id, this.#addLink(target, texts));
      this.limit(targets.size, MAX_KEPT, 'links');
    });
    const links = new Map<number, number>();
    const merges: Range[] = [];
    const open: XmlHandlers['open'] = (name, attributes) => {
      const range = rangeOf(attributes['ref'] ?? '');
      if (name === 'mergeCell') this.limit(merges.push(range), MAX_KEPT, 'merged cells');
      const target = name === 'hyperlink' ? targets.get(idOf(attributes)) : undefined;
      if (target === undefined || range.left < 0 || range.right >= MAX_COLUMNS) return;
      // What follows a # is kept apart.
      const { location = '' } = attributes;
      const link =
        location === '' ? target : this.#addLink(`${texts.get(target)}#${location}`, texts);
      for (let row = range.top; row <= range.bottom; row += 1) {
        for (let column = range.left; column <= range.right; column += 1) {
          links.set(cellNumber(row, column), link);
          this.limit(links.size, MAX_KEPT, 'linked cells');
        }
      }
    };
    for await (const _ of this.read(path, { open }, true));
    return { links, merges };
  }

  #addLink(link: string, texts: SharedTexts): number {
    if (link.length > MAX_TEXT_LENGTH) throw this.tooLong();
    return texts.add(link);
  }

  async #readParts(): Promise<void> {
    const path = 'xl/workbook.xml';
    const relations = new Map<string, { type: string; path: string }>();
    await this.#readRelations(path, (id, type, target) => {
      const part = posix.resolve('/', posix.dirname(path), target).slice(1);
      relations.set(id, { type, path: part });
      this.limit(relations.size, MAX_KEPT, 'links');
    });
    const find = (type: string) =>
      [...relations.values()].find((part) => part.type.endsWith(type))?.path;
    const open: XmlHandlers['open'] = (name, attributes) => {
      if (name === 'workbookPr') this.is1904 = /^(?:1|true)$/.test(attributes['date1904'] ?? '');
      const part = name === 'sheet' ? relations.get(idOf(attributes)) : undefined;
      if (part?.type.endsWith('/worksheet') !== true) return;
      const isVisible = (attributes['state'] ?? 'visible') === 'visible';
      const sheet = { name: attributes['name'] ?? '', isVisible, path: part.path };
      this.limit(this.sheets.push(sheet), MAX_KEPT, 'sheets');
    };
    for await (const _ of this.read(path, { open }));
    this.textsPath = find('/sharedStrings');
    const styles = find('/styles');
    if (styles !== undefined) await this.#readFormats(styles);
  }

  async #readFormats(path: string): Promise<void> {
    const codes = new Map<string, string>();
    let isCell = false;
    const open: XmlHandlers['open'] = (name, { numFmtId = '', formatCode = '' }) => {
      if (name === 'numFmt') codes.set(numFmtId, formatCode);
      this.limit(Math.max(codes.size, this.formats.length), MAX_KEPT, 'formats');
      // No other styles of this kind come behind those of cells.
      if (name === 'cellXfs') isCell = true;
      if (name === 'xf' && isCell)
        this.formats.push(codes.get(numFmtId) ?? builtIn(Number(numFmtId)));
    };
    for await (const _ of this.read(path, { open }));
  }

  /** What a part refers to. */
  async #readRelations(
    of: string,
    add: (id: string, type: string, target: string) => void,
  ): Promise<void> {
    const { dir, base } = posix.parse(of);
    const path = posix.join(dir, '_rels', `${base}.rels`);
    if (!this.#entries.has(path)) return;
    const open: XmlHandlers['open'] = (_, { Id, Type = '', Target = '' }) => {
      if (Id !== undefined) add(Id, Type, Target);
    };
    for await (const _ of this.read(path, { open }));
  }

  async *#decode(path: string): AsyncGenerator<string> {
    const entry = this.#entries.get(path);
    if (entry === undefined) throw new Error(`${path} is missing in it`);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for await (const bytes of await this.#zip.openReadStreamPromise(entry)) {
      this.count(bytes.length);
      yield decoder.decode(bytes, { stream: true });
    }
  }

  /** @throws InputError where there is more of something than a spreadsheet has */
  limit(count: number, max: number, what: string): void {
    if (count > max) throw this.tooMuch(`has more than ${max.toLocaleString('en-US')} ${what}`);
  }

  tooLong() {
    return this.tooMuch('has a cell with more than 32,767 characters');
  }

  tooMuch(what: string) {
    return inputError(
      `${this.#name} ${what}, which is too much for a spreadsheet`,
      'In the spreadsheet program, save the sheet as CSV (UTF-8): a CSV file may have any size.',
    );
  }
}

/** Longer than the tag that ends the rows. */
const CARRY_LENGTH = 128;

/** The text of a sheet that follows its rows, in a tag of its own. */
async function* behindRows(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let carry: string | undefined = '';
  for await (const piece of pieces) {
    if (carry === undefined) yield piece;
    else {
      const text: string = carry + piece;
      const end = /<\/(\w+:)?sheetData\s*>|<(\w+:)?sheetData\s*\/>/.exec(text);
      carry = end === null ? text.slice(-CARRY_LENGTH) : undefined;
      if (end !== null) {
        yield `<${end[1] ?? end[2] ?? ''}worksheet>${text.slice(end.index + end[0].length)}`;
      }
    }
  }
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** The attribute `r:id`, whatever its prefix. */
function idOf(attributes: Attributes): string {
  const key = Object.keys(attributes).find((name) => name.endsWith(':id'));
  return attributes[key ?? ''] ?? '';
}

/** The code of a format that every workbook has; of dates and times, one of the same kind. */
function builtIn(id: number): string {
  if (id === 9) return '0%';
  if (id === 10) return '0.00%';
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58))
    return 'yyyy-mm-dd';
  if (id === 22) return 'yyyy-mm-dd hh:mm';
  return (id >= 18 && id <= 21) || (id >= 45 && id <= 47) ? 'hh:mm:ss' : '';
}
