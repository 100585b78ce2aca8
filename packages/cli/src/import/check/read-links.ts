import { stat } from 'node:fs/promises';
import { openInput, readRows } from '@shortlink/tables';
import { InputError, type Row, shown } from '@shortlink/tables/basics';
import { inputError } from '../errors.ts';
import type { Layout } from '../layout.ts';
import { linkIdentity } from '../map/link-identity.ts';
import { claimOf, LEAST_COLUMNS, lostLinkGuard, strayText } from '../map/result-columns.ts';
import { createRowRules } from '../map/row-rules.ts';
import type { ImportDeps, ImportSettings } from '../types.ts';
import type { Evidence } from './evidence.ts';
import type { KnownBy } from './evidence-sql.ts';
import { detectLinks, otherColumn, seemsWritten } from './links-layout.ts';

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
    const isIgnored = mayBeOther && error instanceof InputError && !(await seemsWritten(path));
    if (!isIgnored) throw error;
  };
  const input = await openInput(path, deps.stdin, deps.signal).catch(ignoreOther);
  if (input === undefined) return LEAST_COLUMNS;
  try {
    const detected = await detectLinks(input, settings).catch(ignoreOther);
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
  } catch (error) {
    // The option is for the input.
    if (!(error instanceof InputError && error.hint?.includes('--encoding'))) throw error;
    throw inputError(error.message, 'Save it as CSV (UTF-8).');
  } finally {
    await input.dispose();
  }
}

function missingColumns({ plan, resultColumns }: Layout): readonly string[] {
  if (resultColumns.short_url !== undefined) return [];
  return LEAST_COLUMNS.filter((column) => !plan.columns.includes(column));
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
