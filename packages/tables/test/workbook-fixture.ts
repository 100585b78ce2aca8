import { crc32 } from 'node:zlib';

/** For tests only: a cell of a workbook, in one of the ways in which Excel writes them. */
export type SheetCell =
  | string
  | number
  | bigint
  | boolean
  /** A link of the cell, as Excel keeps it: what follows # apart. */
  | { link: string; text: string }
  /** With how it is pronounced. */
  | { phonetic: string; text: string }
  | { inline: string }
  /** A number as it is written in the file. */
  | { number: string; format: string }
  | { rich: string[] }
  /** Days since 1900. */
  | { date: number }
  | { formula: string; value: string; isText?: boolean }
  | { error: string };

interface WorkbookOptions {
  /** Of sheets that are not visible. */
  states?: Record<string, 'hidden' | 'veryHidden'>;
  /** Of all sheets. */
  merges?: string[];
  is1904?: boolean;
}

/** For tests only: an .xlsx workbook with these sheets. */
export function workbook(
  sheets: Record<string, SheetCell[][]>,
  { states = {}, merges = [], is1904 = false }: WorkbookOptions = {},
): Buffer {
  const names = Object.keys(sheets);
  const parts: Parts = { texts: [], formats: [], links: [] };
  const { texts, formats } = parts;
  const files: Record<string, string> = {
    '[Content_Types].xml': xml(
      `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`,
    ),
    '_rels/.rels': rels([['officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': xml(
      `<workbook ${MAIN} xmlns:r="${OFFICE}"><workbookPr${is1904 ? ' date1904="1"' : ''}/><sheets>${names
        .map(
          (name, index) =>
            `<sheet name="${xmlText(name)}" sheetId="${index + 1}"${states[name] ? ` state="${states[name]}"` : ''} r:id="rId${index + 1}"/>`,
        )
        .join('')}</sheets></workbook>`,
    ),
    'xl/_rels/workbook.xml.rels': rels([
      ...names.map((_, index): [string, string] => [
        'worksheet',
        `worksheets/sheet${index + 1}.xml`,
      ]),
      ['styles', 'styles.xml'],
      ['sharedStrings', 'sharedStrings.xml'],
    ]),
  };
  Object.values(sheets).forEach((rows, index) => {
    parts.links = [];
    const text = rows.map((cells, row) => sheetRow(cells, row + 1, parts)).join('');
    const { links } = parts;
    const merged = merges.map((ref) => `<mergeCell ref="${ref}"/>`).join('');
    const linked = links.map(({ at, hash }, link) => {
      const location = hash === undefined ? '' : ` location="${xmlText(hash)}"`;
      return `<hyperlink ref="${at}" r:id="rId${link + 1}"${location}/>`;
    });
    files[`xl/worksheets/sheet${index + 1}.xml`] = xml(
      `<worksheet ${MAIN} xmlns:r="${OFFICE}"><sheetData>${text}</sheetData><mergeCells>${merged}</mergeCells><hyperlinks>${linked.join('')}</hyperlinks></worksheet>`,
    );
    files[`xl/worksheets/_rels/sheet${index + 1}.xml.rels`] = rels(
      links.map(({ target }) => ['hyperlink', xmlText(target)]),
    );
  });
  // Style 1 is a date.
  files['xl/styles.xml'] = xml(
    `<styleSheet ${MAIN}><numFmts>${formats.map((code, index) => `<numFmt numFmtId="${200 + index}" formatCode="${xmlText(code)}"/>`).join('')}</numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/>${formats.map((_, index) => `<xf numFmtId="${200 + index}"/>`).join('')}</cellXfs></styleSheet>`,
  );
  files['xl/sharedStrings.xml'] = xml(
    `<sst ${MAIN}>${texts.map((text) => `<si>${text}</si>`).join('')}</sst>`,
  );
  return zip(files);
}

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';

interface Parts {
  texts: string[];
  formats: string[];
  links: { at: string; target: string; hash: string | undefined }[];
}

function sheetRow(cells: readonly SheetCell[], row: number, parts: Parts): string {
  const { texts, formats, links } = parts;
  if (cells.length === 0) return '';
  const written = cells.map((cell, index) => {
    const name = `${String.fromCharCode(65 + index)}${row}`;
    const at = `r="${name}"`;
    const shared = (text: string) => `<c ${at} t="s"><v>${texts.push(text) - 1}</v></c>`;
    if (typeof cell === 'string') return cell === '' ? '' : shared(plain(cell));
    if (typeof cell === 'boolean') return `<c ${at} t="b"><v>${cell ? 1 : 0}</v></c>`;
    if (typeof cell !== 'object') return `<c ${at}><v>${cell}</v></c>`;
    if ('link' in cell) {
      const [target = '', hash] = cell.link.split('#');
      links.push({ at: name, target, hash });
      return shared(plain(cell.text));
    }
    if ('phonetic' in cell) {
      return shared(`${plain(cell.text)}<rPh sb="0" eb="1">${plain(cell.phonetic)}</rPh>`);
    }
    if ('inline' in cell) return `<c ${at} t="inlineStr"><is>${plain(cell.inline)}</is></c>`;
    if ('number' in cell) {
      return `<c ${at} s="${1 + formats.push(cell.format)}"><v>${cell.number}</v></c>`;
    }
    if ('rich' in cell) return shared(cell.rich.map((run) => `<r>${plain(run)}</r>`).join(''));
    if ('date' in cell) return `<c ${at} s="1"><v>${cell.date}</v></c>`;
    if ('error' in cell) return `<c ${at} t="e"><v>${cell.error}</v></c>`;
    const type = /^\d*$/.test(cell.value) && cell.isText !== true ? '' : ' t="str"';
    return `<c ${at}${type}><f>${xmlText(cell.formula)}</f><v>${xmlText(cell.value)}</v></c>`;
  });
  return `<row r="${row}">${written.join('')}</row>`;
}

function plain(text: string): string {
  return `<t xml:space="preserve">${xmlText(text)}</t>`;
}

function xml(body: string): string {
  return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${body}`;
}

function rels(targets: ReadonlyArray<readonly [string, string]>): string {
  const items = targets.map(
    ([type, target], index) =>
      `<Relationship Id="rId${index + 1}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  );
  return xml(
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${items.join('')}</Relationships>`,
  );
}

function xmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/**
 * For tests only: a zip archive of these files, not compressed.
 *
 * @param claimedSize - what its directory says of the size of each file
 */
export function zip(files: Record<string, string>, claimedSize?: number): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const data = Buffer.from(content);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(claimedSize ?? data.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    parts.push(Buffer.from('PK\x03\x04'), common, Buffer.from(name), data);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(
      Buffer.from('PK\x01\x02\x14\x00', 'latin1'),
      common,
      place.subarray(0, 14),
      Buffer.from(name),
    );
    offset += 30 + Buffer.byteLength(name) + data.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(Object.keys(files).length, 8);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, index, end]);
}
