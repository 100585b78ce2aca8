import { open, stat } from 'node:fs/promises';
import { constants, gunzipSync } from 'node:zlib';
import { type Input, openInput, readRows } from '@shortlink/tables';
import { InputError, inputError, type Row, shown } from '@shortlink/tables/basics';
import { firstBytes } from '../journal/file.ts';
import { detectLayout, type Layout } from '../layout.ts';
import { isWholeMadeFor, linkIdentity } from '../map/link-identity.ts';
import {
  claimOf,
  isShortUrlAt,
  LEAST_COLUMNS,
  lostLinkGuard,
  RESULT_COLUMNS,
  strayText,
} from '../map/result-columns.ts';
import { createRowRules } from '../map/row-rules.ts';
import { type ImportDeps, type ImportSettings, NO_RESPONSE } from '../types.ts';
import type { Evidence } from './evidence.ts';
import { KNOWN_BY } from './evidence-sql.ts';

interface FileOfLinks {
  path: string;
  source: number;
  isOfLines: boolean;
  /** Whether it may name no links at all. @default false */
  mayBeOther?: boolean;
  /** Addresses whose short URLs name links also in a column of another name. @default such a column is refused */
  origins?: readonly string[];
  /** Links at other addresses don't count. @default all do */
  only?: string | undefined;
  /** Whether it is another input, whose rows may get a link each. @default false */
  isInput?: boolean;
}

/**
 * Reads a results file, and adds the links that its rows name. Resolves to the columns of results that it lacks: then it is none. Throws an
 * InputError when a row names a link that can't be read, or the file is no table.
 */
export async function readLinks(
  { path, source, isOfLines, mayBeOther = false, origins, only, isInput = false }: FileOfLinks,
  evidence: Evidence,
  settings: ImportSettings,
  deps: Pick<ImportDeps, 'stdin' | 'signal'>,
): Promise<readonly string[]> {
  const ignoreOther = (error: unknown) => {
    const isIgnored = mayBeOther && error instanceof InputError && !seemsWritten(path);
    if (!isIgnored) throw error;
  };
  const input = await openInput(path, deps.stdin, deps.signal).catch(ignoreOther);
  if (input === undefined) return LEAST_COLUMNS;
  try {
    const { map, defaults, addTags, tagSeparator } = settings;
    // Only its own import may have been told its columns.
    const how = { map, defaults, addTags, tagSeparator, isMapOptional: true } as const;
    const detected = await detectLayout(
      input,
      isInput ? settings : { ...how, inputFormat: 'auto' },
    ).catch(ignoreOther);
    if (detected === undefined) return LEAST_COLUMNS;
    const missing = missingColumns(detected);
    const isOther = missing.length > 0 && !isInput;
    const search = isOther && mayBeOther ? otherColumn(input, detected, origins) : undefined;
    // Without `origins`, an error is about short URLs that would be replaced.
    const named = await (origins === undefined ? search : search?.catch(ignoreOther));
    const isPart = mayBeOther && detected.plan.columns.includes('made_for');
    if (isOther && named === undefined && !isPart) return missing;
    const layout = named === undefined ? detected : { ...detected, resultColumns: named };
    const rules = createRowRules(layout, settings, isOfLines || layout.isOfLines);
    const refuse = lostLinkGuard(input.name, layout, []);
    let last: Row | undefined;
    let unclear: Row | undefined;
    for await (const rows of readRows(input, layout)) {
      last = rows.at(-1);
      for (const row of rows) {
        refuse(row);
        const claim = claimOf(input.name, row, layout);
        if (isInput && claim.own === undefined)
          Object.assign(claim, { doubt: NO_RESPONSE, made_for: '' });
        const mayName = claim.own === undefined && urlOf(row, layout).trim() !== '';
        if (mayName && strayText(row, layout) !== undefined) unclear ??= row;
        if (only !== undefined && claim.own?.short_url.startsWith(`${only}/`) !== true) continue;
        if (source < KNOWN_BY.beside) evidence.named.add(input.name, claim.own);
        evidence.addLink(source, linkIdentity(rules.link(row), settings.defaults.domain_id), claim);
      }
    }
    if (last !== undefined) await refuseCut(input, last, layout);
    if (unclear === undefined) return [];
    throw inputError(
      `${input.name}, line ${unclear.line}: ${shown(urlOf(unclear, layout))} could be the short URL of a link, or something else`,
      'Where it is one, write it with https:// and its code, or created as the status. Otherwise take the row out.',
    );
  } catch (error) {
    if (!(error instanceof InputError && error.hint?.includes('--encoding'))) throw error;
    throw inputError(error.message, 'Save it as CSV (UTF-8).');
  } finally {
    await input.dispose();
  }
}

/**
 * The column of a table without results that holds nothing but short URLs of one host. Throws an InputError where they may be those
 * of another service, and the table will be replaced.
 */
async function otherColumn(
  input: Input,
  layout: Layout,
  origins: readonly string[] | undefined,
): Promise<Layout['resultColumns'] | undefined> {
  const { columns, mapping } = layout.plan;
  const mapped: readonly unknown[] = Object.values(mapping);
  for await (const rows of readRows(input, layout)) {
    for (const [index, column] of columns.entries()) {
      const cells = rows.flatMap((row) => row.cells[index] || []);
      const [first = ''] = cells;
      const origin = URL.parse(first)?.origin ?? '';
      const isOther = mapped.includes(index) || !/^https?:/.test(origin);
      if (isOther || !cells.every((cell) => isShortUrlAt(cell, origin))) continue;
      if (origins?.includes(origin)) return { short_url: index };
      if (origins !== undefined) continue;
      throw inputError(
        `${input.name} holds short URLs, such as ${shown(first)}, in ${JSON.stringify(column)}, so their links would be created again`,
        `Name the columns as an import does: ${RESULT_COLUMNS.join(', ')}. If it is no result of an import, move it away.`,
      );
    }
    break;
  }
  return undefined;
}

function missingColumns({ plan, resultColumns }: Layout): readonly string[] {
  if (resultColumns.short_url !== undefined) return [];
  return LEAST_COLUMNS.filter((column) => !plan.columns.includes(column));
}

/** The rows behind a lost end name no links. Not all programs end the last line of a table, but its cells are all there. */
async function refuseCut({ name, path, packing }: Input, row: Row, layout: Layout): Promise<void> {
  const { made_for, short_url } = layout.resultColumns;
  if (row.object !== undefined || packing !== undefined) return;
  if (layout.plan.format !== 'jsonl') {
    if (made_for === undefined) return;
    const [made = '', url] = [row.cells[made_for]?.trim(), row.cells[short_url ?? -1]?.trim()];
    const isWhole = row.cells.length >= layout.plan.columns.length;
    if (isWhole && (made === '' ? !url : isWholeMadeFor(made))) return;
  }
  const { size } = await stat(path);
  const file = await open(path, 'r');
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, size - 2).finally(() => file.close());
  // In UTF-16, a line feed has two bytes.
  if (/\n\0?$/.test(buffer.toString('latin1'))) return;
  throw inputError(
    `${name} is cut off: its last line, ${row.line}, has no end, and the links behind it are not known`,
    'Restore it from a copy. If nothing is missing, complete that line.',
  );
}

export async function isFilled(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.isFile() === true && stats.size > 0;
}

function urlOf(row: Row, { resultColumns }: Layout): string {
  const url = row.object?.['short_url'] ?? row.cells[resultColumns.short_url ?? -1];
  return typeof url === 'string' ? url : '';
}

/** Workbooks that an import has written or kept. */
const WORKBOOK = /\.results\.xlsx(?:\.old\d*)?$/i;

/** Few others than an import write the names of two columns, or the status behind a short URL. */
const WRITTEN = /\b(?:short_url|made_for)\b|\bhttps?:[^\s",;]+"?[,;\t]"?created\b/;

const HEAD_BYTES = 65_536;

/** Whether an import seems to have written a file that can't be read. */
function seemsWritten(path: string): boolean {
  if (WORKBOOK.test(path)) return true;
  try {
    return WRITTEN.test(headOf(path, HEAD_BYTES));
  } catch {
    return true;
  }
}

/** How a file begins, unpacked as far as it goes. In most encodings, the text reads alike. */
export function headOf(path: string, bytes: number): string {
  let head = firstBytes(path, bytes);
  if (head[0] === 0x1f && head[1] === 0x8b) {
    head = gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH });
  }
  return head.toString('latin1').replaceAll('\0', '');
}
