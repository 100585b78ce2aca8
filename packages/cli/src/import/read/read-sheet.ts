import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { inputError, temporaryError } from '../errors.ts';

/** Characters that are gathered before they are written. */
const PIECE_LENGTH = 256 * 1024;

/**
 * Reads a sheet of an .xlsx workbook once, and writes its rows to a file that can be read again and again in constant memory: one
 * JSON array a line, `[row number, cells]`. The workbook itself is held in memory while it is read.
 *
 * @param sheet - name of the sheet; undefined is the first one
 * @param skipRows - rows at the top that are left out
 * @returns path of the file, in `scratch`
 * @throws CliError (exit code 2) for a workbook that can't be read, or has no such sheet
 */
export async function unpackSheet(
  { path, name, scratch }: { path: string; name: string; scratch: string },
  sheet: string | undefined,
  skipRows: number,
): Promise<string> {
  const rows = await readWorkbook(path, name, sheet);
  const target = join(scratch, 'rows');
  const file = await open(target, 'w', 0o600);
  try {
    let text = '';
    for (let index = skipRows; index < rows.length; index += 1) {
      const cells = (rows[index] ?? []).map(cellText);
      if (cells.every((cell) => cell.trim() === '')) continue;
      text += `${JSON.stringify([index + 1, cells])}\n`;
      if (text.length < PIECE_LENGTH) continue;
      await file.writeFile(text);
      text = '';
    }
    await file.writeFile(text);
  } catch (error) {
    throw temporaryError(error);
  } finally {
    await file.close();
  }
  return target;
}

/** The library is loaded here and not before: no other input needs it. */
async function readWorkbook(path: string, name: string, sheet: string | undefined) {
  const { readSheet, SheetNotFoundError } = await import('read-excel-file/node');
  try {
    // Numbers stay as they are written in the file: an identifier of 17 digits is not rounded.
    const parseNumber = (text: string) => text;
    return await readSheet(path, sheet ?? 1, { trim: false, parseNumber });
  } catch (error) {
    if (error instanceof SheetNotFoundError) {
      // The library's own message lists the sheets that there are.
      const known = error.message.replace(/^.*?\. /, '');
      throw inputError(`${name} has no sheet ${JSON.stringify(sheet)}`, known);
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw inputError(
      `${name} can't be read as an Excel workbook: ${reason}`,
      'Open it in the spreadsheet program and save it again, or as CSV (UTF-8).',
    );
  }
}

/** A cell as text: a date as ISO 8601, without its time where that is midnight; an empty cell and an error value are empty. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString().replace(/T00:00:00\.000Z$/, '');
  return String(value);
}
