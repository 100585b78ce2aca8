import { open, stat } from 'node:fs/promises';
import { type Input, openInput, readRows } from '@shortlink/tables';
import { InputError, type Row, shown } from '@shortlink/tables/basics';
import { inputError } from '../errors.ts';
import { detectLayout, type Layout } from '../layout.ts';
import { linkIdentity } from '../map/link-identity.ts';
import {
  claimOf,
  LEAST_COLUMNS,
  lostLinkGuard,
  RESULT_COLUMNS,
  shortUrlColumn,
  strayText,
} from '../map/result-columns.ts';
import { createRowRules } from '../map/row-rules.ts';
import type { ImportDeps, ImportSettings } from '../types.ts';
import type { Evidence } from './evidence.ts';
import type { KnownBy } from './evidence-sql.ts';

interface FileOfLinks {
  path: string;
  source: KnownBy;
  /** Whether it was written for JSON Lines, of which each had its own keys. */
  isOfLines: boolean;
  /** Whether it may be a file of another kind, which names no links. @default false */
  mayBeOther?: boolean;
  /** Addresses that its short URLs begin with, which name links also in a column of another name. @default such a column is refused */
  origins?: readonly string[];
}

/**
 * Reads a results file, whoever names it, and adds the links that its rows name. Resolves to the columns of results that it lacks: then it is
 * none, and was not read.
 *
 * @throws CliError (exit code 2) when a row of it names a link that can't be read, or it is no table
 */
export async function readLinks(
  { path, source, isOfLines, mayBeOther = false, origins }: FileOfLinks,
  evidence: Evidence,
  settings: ImportSettings,
  deps: Pick<ImportDeps, 'stdin' | 'signal'>,
): Promise<readonly string[]> {
  const ignoreOther = async (error: unknown) => {
    const isOfInput = error instanceof InputError && error.code !== 'system';
    if (!mayBeOther || !isOfInput || (await seemsWritten(path))) throw error;
  };
  const input = await openInput(path, deps.stdin, deps.signal).catch(ignoreOther);
  if (input === undefined) return LEAST_COLUMNS;
  try {
    const { map } = settings;
    const isLenient = { map, isMapOptional: true, inputFormat: 'auto' } as const;
    const detected = await detectLayout(input, isLenient).catch(ignoreOther);
    if (detected === undefined) return LEAST_COLUMNS;
    const missing = missingColumns(detected);
    const isOther = missing.length > 0;
    const named = isOther && mayBeOther ? await otherColumn(input, detected, origins) : undefined;
    if (isOther && named === undefined) return missing;
    const layout = named === undefined ? detected : { ...detected, resultColumns: named };
    const rules = createRowRules(layout, settings, isOfLines || layout.isOfLines);
    const refuse = lostLinkGuard(input.name, layout, []);
    for await (const rows of readRows(input, layout)) {
      for (const row of rows) {
        refuse(row);
        const claim = claimOf(input.name, row, layout);
        if (claim.own === undefined) refuseUnclear(input.name, row, layout);
        evidence.addLink(source, linkIdentity(rules.link(row), settings.defaults.domain_id), claim);
      }
    }
    return [];
  } finally {
    await input.dispose();
  }
}

function missingColumns({ plan, resultColumns }: Layout): readonly string[] {
  if (resultColumns.short_url !== undefined) return [];
  return LEAST_COLUMNS.filter((column) => !plan.columns.includes(column));
}

/**
 * The column of a table without results that holds short URLs.
 *
 * @throws CliError (exit code 2) where it may be that of another service, and the table will be replaced
 */
async function otherColumn(
  input: Input,
  layout: Layout,
  origins: readonly string[] | undefined,
): Promise<Layout['resultColumns'] | undefined> {
  for await (const rows of readRows(input, layout)) {
    const found = shortUrlColumn(rows, layout, origins);
    if (found === undefined) return undefined;
    if (origins !== undefined) return { short_url: found.index };
    throw inputError(
      `${input.name} holds short URLs, such as ${shown(found.first)}, in ${JSON.stringify(found.column)}, so their links would be created again`,
      `Name the columns as an import does: ${RESULT_COLUMNS.join(', ')}. If it is no result of an import, move it away.`,
    );
  }
  return undefined;
}

/** Names of workbooks that an import has written, and of those that it keeps. */
const WORKBOOK = /\.results\.xlsx(?:\.old\d*)?$/i;

/** What an import writes, and few others: the names of two columns, or the status behind a short URL. */
const WRITTEN = /\b(?:short_url|made_for)\b|\bhttps?:[^\s",;]+"?[,;\t]"?created\b/;

/** Bytes of a file in which that is looked for. */
const HEAD_BYTES = 65_536;

/** Whether an import seems to have written a file that can't be read. In most encodings, the text reads alike. */
async function seemsWritten(path: string): Promise<boolean> {
  const file = WORKBOOK.test(path) ? undefined : await open(path).catch(() => undefined);
  if (file === undefined) return true;
  try {
    const { buffer } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return WRITTEN.test(buffer.toString('latin1').replaceAll('\0', ''));
  } finally {
    await file.close();
  }
}

/** Whether there is a regular file that holds anything. */
export async function isFilled(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.isFile() === true && stats.size > 0;
}

/** A link that could not be read would be created again. */
function refuseUnclear(name: string, row: Row, layout: Layout): void {
  const url = row.object?.['short_url'] ?? row.cells[layout.resultColumns.short_url ?? -1] ?? '';
  if (typeof url !== 'string' || url.trim() === '' || strayText(row, layout) === undefined) return;
  throw inputError(
    `${name}, line ${row.line}: ${shown(url)} could be the short URL of a link, or something else`,
    'Where it is one, write it with https:// and its code, or created as the status. Otherwise take the row out.',
  );
}
