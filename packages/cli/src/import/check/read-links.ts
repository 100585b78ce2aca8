import { stat } from 'node:fs/promises';
import { inputError, shown } from '../errors.ts';
import { linkIdentity } from '../map/link-identity.ts';
import {
  claimOf,
  LEAST_COLUMNS,
  lostLinkGuard,
  refuseLostUrl,
  strayText,
} from '../map/result-columns.ts';
import { createRowRules } from '../map/row-rules.ts';
import { detectLayout, type Layout } from '../read/layout.ts';
import { type Input, openInput } from '../read/open-input.ts';
import { readRows } from '../read/read-rows.ts';
import type { ImportDeps, ImportSettings, Row } from '../types.ts';
import type { Evidence } from './evidence.ts';
import type { SourceOfLinks } from './evidence-sql.ts';

interface FileOfLinks {
  path: string;
  source: SourceOfLinks;
  /** Whether it was written for JSON Lines, of which each had its own keys. */
  isOfLines: boolean;
}

/**
 * Reads a results file, whoever names it, and adds the links that its rows name. Resolves to false where there is no such file, or it has
 * not the columns of results.
 *
 * @throws CliError (exit code 2) when a row of it names a link that can't be read
 */
export async function readLinks(
  { path, source, isOfLines }: FileOfLinks,
  evidence: Evidence,
  settings: ImportSettings,
  deps: Pick<ImportDeps, 'stdin' | 'signal'>,
): Promise<boolean> {
  const input = await openInput(path, deps.stdin, deps.signal);
  try {
    const layout = await resultsLayout(input, settings);
    if (layout === undefined) return false;
    const rules = createRowRules(layout, settings, isOfLines || layout.isOfLines);
    const refuse = lostLinkGuard(input.name, layout, []);
    for await (const rows of readRows(input, layout)) {
      for (const row of rows) {
        refuse(row);
        refuseLostUrl(input.name, row, layout);
        const claim = claimOf(row, layout);
        if (claim.own === undefined) refuseUnclear(input.name, row, layout);
        evidence.addLink(
          source,
          linkIdentity(rules.link(row), settings.defaults.domain_id),
          claim,
        );
      }
    }
    return true;
  } finally {
    await input.dispose();
  }
}

async function resultsLayout(
  input: Input,
  { map }: Pick<ImportSettings, 'map'>,
): Promise<Layout | undefined> {
  const layout = await detectLayout(input, { map, isMapOptional: true, inputFormat: 'auto' });
  const isLines = layout.plan.format === 'jsonl';
  const isWhole = isLines
    ? LEAST_COLUMNS.every((column) => layout.plan.columns.includes(column))
    : layout.resultColumns.short_url !== undefined;
  return isWhole ? layout : undefined;
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
