import { plural } from '../../format.ts';
import { inputError, shown } from '../errors.ts';
import type { Journal } from '../journal/journal.ts';
import { linkIdentity } from '../journal/link-text.ts';
import {
  partOfResultsGuard,
  RESULT_COLUMNS,
  refuseLostUrl,
  rowLink,
  strayText,
} from '../map/result-columns.ts';
import { createRowRules } from '../map/row-rules.ts';
import { detectLayout, type Layout } from '../read/layout.ts';
import { openInput } from '../read/open-input.ts';
import { readRows } from '../read/read-rows.ts';
import {
  type Existing,
  type ImportDeps,
  type ImportSettings,
  NO_SERVICE,
  type Row,
} from '../types.ts';
import type { Checked } from './check-input.ts';
import { type Comparison, ExistingLinks } from './existing-links.ts';

/** How the rows compare with what exists. */
export interface Found extends Existing {
  /** Rows whose link may exist. */
  unknown: number;
  comparison: Comparison | undefined;
}

/** What rows are compared with: the journal, and an earlier results file. Undefined where there is nothing. */
export async function openExistingLinks(
  journal: Journal,
  settings: ImportSettings,
  deps: ImportDeps,
  { plan, isOfLines }: Layout,
): Promise<ExistingLinks | undefined> {
  if (settings.known === undefined) {
    return journal.hasLinks() ? new ExistingLinks(journal) : undefined;
  }
  const existing = new ExistingLinks(journal);
  await addKnownLinks(
    settings.known,
    existing,
    settings,
    deps,
    isOfLines || plan.format === 'jsonl',
  );
  return existing;
}

/** @throws CliError (exit code 2) when the file is no results file */
async function addKnownLinks(
  file: string,
  existing: ExistingLinks,
  settings: ImportSettings,
  deps: ImportDeps,
  isOfLines: boolean,
): Promise<void> {
  const input = await openInput(file, deps.stdin, deps.signal);
  try {
    const { map } = settings;
    const layout = await detectLayout(input, { map, isMapOptional: true, inputFormat: 'auto' });
    const missing = RESULT_COLUMNS.filter((column) => !layout.plan.columns.includes(column));
    if (missing.length > 0) {
      throw inputError(
        `${input.name} is no whole results file: it has no column ${missing.join(', ')}`,
        'Give --known the results file of an earlier import.',
      );
    }
    const rules = createRowRules(layout, settings, isOfLines || layout.isOfLines);
    const refusePart = partOfResultsGuard(input.name, layout, new URL(settings.baseUrl).origin);
    for await (const rows of readRows(input, layout)) {
      for (const row of rows) {
        refusePart(row);
        refuseLostUrl(input.name, row, layout);
        const named = rowLink(row, layout);
        if (named.own === undefined) refuseUnclear(input.name, row, layout);
        existing.addKnown(linkIdentity(rules.link(row), settings.defaults.domain_id), named);
      }
    }
  } finally {
    await input.dispose();
  }
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

/** Compares the rows that were checked with the links that exist, and announces the result. */
export function compareRows(
  checked: Checked,
  existing: ExistingLinks | undefined,
  journal: Journal,
  settings: Pick<ImportSettings, 'known' | 'baseUrl' | 'restart'>,
  deps: Pick<ImportDeps, 'onEvent'>,
): Found {
  const found = foundOf(checked, existing?.compare());
  for (const message of surprises(found, checked, journal, settings)) {
    deps.onEvent({ type: 'warning', message });
  }
  const { comparison: _, unknown: __, ...counts } = found;
  deps.onEvent({ type: 'compared', rows: checked.rows, ...counts });
  return found;
}

/** What the user may not expect of the comparison. */
function surprises(
  found: Found,
  { rows, own }: Checked,
  journal: Journal,
  { known, baseUrl, restart }: Pick<ImportSettings, 'known' | 'baseUrl' | 'restart'>,
): string[] {
  const messages: string[] = [];
  if (known !== undefined && rows > 0 && found.comparison?.usesKnown === false) {
    messages.push(
      `No row asks for a link of ${known} (--known): are its target URLs those of this file?`,
    );
  }
  const others = known === undefined && !journal.hasLinks() ? journal.otherServices() : [];
  if (others.length > 0 && found.new > 0 && baseUrl !== NO_SERVICE) {
    const what = plural(found.new, 'row is', 'rows are');
    messages.push(
      `The journal has links of ${others.join(', ')}, and none of ${baseUrl}: ${what} new there.`,
    );
  }
  if (restart && own > 0) {
    const what = plural(
      own,
      'row names its link itself and is',
      'rows name their links themselves and are',
    );
    messages.push(
      `${what} not created again by --restart. To create a row again, clear its code, short_url, status and error.`,
    );
  }
  return messages;
}

export function foundOf(checked: Checked, comparison: Comparison | undefined): Found {
  const { existing = 0, unknown = 0, changed = 0, changedLines = [], gone = 0 } = comparison ?? {};
  const have = checked.own + existing;
  return {
    new: checked.rows - checked.rejected - have - unknown,
    existing: have,
    changed,
    changedLines,
    gone,
    unknown,
    comparison,
  };
}
