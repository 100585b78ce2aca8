import { crc32 } from 'node:zlib';

/** For tests only: a cell of a workbook, in one of the ways in which Excel writes them. */
export type SheetCell =
  | string
  | number
  | bigint
  | boolean
  | { link: string; text: string }
  | { rich: string[] }
  /** Days since 1900. */
  | { date: number }
  | { formula: string; value: string }
  | { error: string };

/** For tests only: an .xlsx workbook with these sheets. */
export function workbook(sheets: Record<string, SheetCell[][]>): Buffer {
  const names = Object.keys(sheets);
  const texts: string[] = [];
  const files: Record<string, string> = {
    '[Content_Types].xml': xml(
      `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`,
    ),
    '_rels/.rels': rels([['officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': xml(
      `<workbook ${MAIN} xmlns:r="${OFFICE}"><sheets>${names
        .map(
          (name, index) =>
            `<sheet name="${xmlText(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`,
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
    // Style 1 is a date.
    'xl/styles.xml': xml(
      `<styleSheet ${MAIN}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`,
    ),
  };
  Object.values(sheets).forEach((rows, index) => {
    const text = rows.map((cells, row) => sheetRow(cells, row + 1, texts)).join('');
    files[`xl/worksheets/sheet${index + 1}.xml`] = xml(
      `<worksheet ${MAIN}><sheetData>${text}</sheetData></worksheet>`,
    );
  });
  files['xl/sharedStrings.xml'] = xml(
    `<sst ${MAIN}>${texts.map((text) => `<si>${text}</si>`).join('')}</sst>`,
  );
  return zip(files);
}

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';

function sheetRow(cells: readonly SheetCell[], row: number, texts: string[]): string {
  if (cells.length === 0) return '';
  const parts = cells.map((cell, index) => {
    const at = `r="${String.fromCharCode(65 + index)}${row}"`;
    const shared = (text: string) => `<c ${at} t="s"><v>${texts.push(text) - 1}</v></c>`;
    if (typeof cell === 'string') return cell === '' ? '' : shared(plain(cell));
    if (typeof cell === 'boolean') return `<c ${at} t="b"><v>${cell ? 1 : 0}</v></c>`;
    if (typeof cell !== 'object') return `<c ${at}><v>${cell}</v></c>`;
    if ('link' in cell) return shared(plain(cell.text));
    if ('rich' in cell) return shared(cell.rich.map((run) => `<r>${plain(run)}</r>`).join(''));
    if ('date' in cell) return `<c ${at} s="1"><v>${cell.date}</v></c>`;
    if ('error' in cell) return `<c ${at} t="e"><v>${cell.error}</v></c>`;
    return `<c ${at} t="str"><f>${xmlText(cell.formula)}</f><v>${xmlText(cell.value)}</v></c>`;
  });
  return `<row r="${row}">${parts.join('')}</row>`;
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
