import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { looksLikeUrl } from './cells.ts';
import { InputError, inputError, temporaryError } from './errors.ts';
import { ALIASES, columnKey, headerIndex } from './map-columns.ts';
import { SharedTexts } from './shared-texts.ts';
import { readTexts, type SheetRow, sheetRows } from './sheet-rows.ts';
import type { Plan, TableOptions } from './types.ts';
import { type Sheet, Workbook } from './workbook.ts';

/** Characters that are gathered before they are written. */
const PIECE_LENGTH = 256 * 1024;

/** Rows of a sheet in which links are looked for. */
const MAX_SAMPLE_ROWS = 50;

type SheetOptions = Pick<TableOptions, 'sheet' | 'skipLines' | 'added'>;

type Rows = (sheet: Sheet) => AsyncGenerator<SheetRow[]>;

/**
 * Writes the rows of a sheet to a file that can be read again and again in constant memory: a line for each row, the values of a
 * {@link SheetRow} as a JSON array.
 * @throws InputError for a workbook that can't be read, has no such sheet, or several that could be meant
 */
export async function unpackSheet(
  { path, name, scratch }: { path: string; name: string; scratch: string },
  settings: SheetOptions,
): Promise<Pick<Plan, 'sheet' | 'notes'> & { path: string }> {
  let book: Workbook | undefined;
  const texts = new SharedTexts(join(scratch, 'texts'));
  try {
    const opened = await Workbook.open(path, name);
    book = opened;
    if (book.textsPath !== undefined) await readTexts(book, book.textsPath, texts);
    const rows: Rows = (sheet) => sheetRows(opened, sheet, texts);
    const chosen = await chooseSheet(book, rows, name, settings);
    book.uncalculated = 0;
    const target = join(scratch, 'rows');
    await writeRows(book, rows(chosen), target, settings.skipLines);
    return { path: target, ...describe(book, chosen) };
  } catch (cause) {
    const error = temporaryError(cause);
    if (error instanceof InputError) throw error;
    throw inputError(
      `${name} can't be read as an Excel workbook: ${error instanceof Error ? error.message : error}`,
      'Open it in the spreadsheet program and save it again, or as CSV (UTF-8).',
    );
  } finally {
    book?.close();
    texts.close();
  }
}

export async function listSheets(path: string): Promise<string[]> {
  const book = await Workbook.open(path, path);
  book.close();
  return book.sheets.map(({ name }) => name);
}

async function writeRows(
  book: Workbook,
  rows: AsyncIterable<SheetRow[]>,
  target: string,
  skipRows = 0,
): Promise<void> {
  const file = await open(target, 'w', 0o600);
  try {
    let text = '';
    const write = async () => {
      book.count(text.length);
      await file.writeFile(text);
      text = '';
    };
    for await (const some of rows) {
      for (const row of some) {
        if (row.line > skipRows) text += `${JSON.stringify(Object.values(row))}\n`;
        if (text.length >= PIECE_LENGTH) await write();
      }
    }
    await write();
  } finally {
    await file.close();
  }
}

function describe({ sheets, uncalculated }: Workbook, chosen: Sheet) {
  const visible = sheets.filter(({ isVisible }) => isVisible);
  const others = sheets.filter((sheet) => sheet !== chosen);
  const sheet = { name: chosen.name, number: visible.indexOf(chosen) + 1, of: visible.length };
  const notes =
    others.length > 0 ? [`Other sheets, which --sheet chooses: ${describeSheets(others)}.`] : [];
  if (uncalculated > 0) {
    notes.push(
      `Cells with formulas without results, which are read as texts: ${uncalculated}. Open the workbook in a spreadsheet program, and save it.`,
    );
  }
  return { sheet, notes };
}

/** Never a guess: where several sheets could be meant, the user has to say which. */
async function chooseSheet(
  { sheets }: Workbook,
  rows: Rows,
  name: string,
  { sheet: wanted, added }: SheetOptions,
): Promise<Sheet> {
  const hint = `Its sheets: ${describeSheets(sheets)}.`;
  if (wanted !== undefined) {
    const named = sheets.find((sheet) => sheet.name === wanted);
    if (named !== undefined) return named;
    throw inputError(`${name} has no sheet ${JSON.stringify(wanted)}`, hint);
  }
  const visible = sheets.filter(({ isVisible }) => isVisible);
  const [only] = visible;
  if (only === undefined)
    throw inputError(`${name} has no sheet that is visible`, `${hint} To use one: --sheet NAME`);
  if (visible.length === 1) return only;
  let best: Sheet[] = [];
  let most = 0;
  for (const sheet of visible) {
    const rank = rankOf(await firstRows(rows(sheet)), added);
    if (rank > most) best = [];
    if (rank >= most) best.push(sheet);
    most = Math.max(most, rank);
  }
  const [found, other] = best;
  if (found !== undefined && other === undefined) return found;
  const what =
    most === NO_LINKS
      ? 'no sheet with links'
      : `several sheets with links: ${describeSheets(best)}`;
  throw inputError(
    `${name} has ${what}`,
    `${hint} Name the one to import: --sheet ${JSON.stringify(found?.name)}`,
  );
}

async function firstRows(rows: AsyncIterable<SheetRow[]>): Promise<SheetRow[]> {
  const found: SheetRow[] = [];
  for await (const some of rows) {
    found.push(...some);
    if (found.length >= MAX_SAMPLE_ROWS) break;
  }
  return found.slice(0, MAX_SAMPLE_ROWS);
}

const NO_LINKS = 1;

/** How much a sheet looks like one of links, from its first rows. */
function rankOf(rows: readonly SheetRow[], added: TableOptions['added']): number {
  if (rows.length === 0) return 0;
  const linked = rows.map(({ cells, book }) => ({
    cells: cells.map((cell, at) => book[at]?.link ?? cell),
  }));
  const header = linked[headerIndex(linked)]?.cells ?? [];
  if (Object.keys(added?.find(header) ?? {}).length > 0) return 5;
  const isNamed = header.some((cell) => ALIASES.target_url.includes(columnKey(cell)));
  const hasUrl = linked.some(({ cells }) => cells.some(looksLikeUrl));
  return NO_LINKS + (isNamed ? 1 : 0) + (hasUrl ? 2 : 0);
}

function describeSheets(sheets: readonly Sheet[]): string {
  return sheets
    .map(({ name, isVisible }) => JSON.stringify(name) + (isVisible ? '' : ' (hidden)'))
    .join(', ');
}
