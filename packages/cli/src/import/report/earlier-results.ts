import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Found } from '../check/compare-rows.ts';
import type { Journal } from '../journal/journal.ts';
import { ownLink } from '../map/result-columns.ts';
import { detectLayout } from '../read/layout.ts';
import { openInput } from '../read/open-input.ts';
import { readRows } from '../read/read-rows.ts';
import type { ImportDeps, ImportSettings, ImportSummary } from '../types.ts';

/**
 * Whether the results that are there have links that neither the journal nor the new results would name: no journal knows of them, or
 * they are the known links themselves, of which no row asks for some.
 */
export async function isOnlyRecord(
  { comparison }: Found,
  journal: Journal,
  settings: ImportSettings,
  deps: ImportDeps,
): Promise<boolean> {
  const { output, known, inPlace, restart } = settings;
  if (inPlace) return false;
  const isKnown = known !== undefined && resolve(known) === resolve(output);
  if (isKnown) return comparison?.leavesKnown === true;
  // A restart has set the journal aside.
  const isRecorded = restart || journal.hasLinks() || journal.otherServices().length > 0;
  return !isRecorded && (await holdsLinks(settings, deps)) !== false;
}

/** Whether there are no links at this service, and the results of an earlier run would be overwritten, which may be all that is left of it. */
export async function keepsEarlierResults(
  { created, unknown, unsent, failed }: ImportSummary,
  journal: Journal,
  settings: ImportSettings,
  deps: ImportDeps,
): Promise<boolean> {
  const { output, inPlace } = settings;
  const hasNone = created + unknown === 0 && !journal.hasLinks();
  const isFutile = hasNone && unsent + failed > 0 && !inPlace;
  if (!isFutile || (await holdsLinks(settings, deps)) !== true) return false;
  const message = `Nothing was created. ${output} keeps the links of an earlier run.`;
  deps.onEvent({ type: 'warning', message });
  return true;
}

/** Whether the output holds the results of a run that has created something; undefined where it can't be read as results. */
async function holdsLinks(
  { output, map }: ImportSettings,
  deps: ImportDeps,
): Promise<boolean | undefined> {
  const stats = await stat(output).catch(() => undefined);
  if (!stats?.isFile() || stats.size === 0) return false;
  try {
    const input = await openInput(output, deps.stdin, deps.signal);
    try {
      const layout = await detectLayout(input, { map, isMapOptional: true, inputFormat: 'auto' });
      for await (const rows of readRows(input, layout)) {
        if (rows.some((row) => ownLink(row, layout) !== undefined)) return true;
      }
      return false;
    } finally {
      await input.dispose();
    }
  } catch {
    return undefined;
  }
}
