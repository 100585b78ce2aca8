import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { writeError } from '../errors.ts';
import type { Journal } from '../journal/journal.ts';
import { addHash } from '../journal/link-text.ts';
import { ownLink } from '../map/result-columns.ts';
import { detectLayout } from '../read/layout.ts';
import { type Input, openInput } from '../read/open-input.ts';
import { readRows } from '../read/read-rows.ts';
import type { SendNewRows } from '../send/send-new-rows.ts';
import type { ImportDeps, ImportSettings, ImportSummary } from '../types.ts';
import { keepChanged } from './keep-changed.ts';

type Known = Omit<SendNewRows, 'source'>;

/**
 * Whether the results that are there have links that neither the journal nor the new results would name: no journal knows of them, or
 * they are the known links themselves, of which no row asks for some. `unreadable` where they could.
 */
export async function onlyRecord(known: Known): Promise<'links' | 'unreadable' | undefined> {
  const { journal, found, settings, deps } = known;
  const { output, inPlace } = settings;
  if (inPlace) return undefined;
  if (settings.known !== undefined && resolve(settings.known) === resolve(output)) {
    return found.comparison?.leavesKnown === true ? 'links' : undefined;
  }
  const hasRecord = journal.hasLinks() || journal.otherServices().length > 0;
  if (hasRecord || journal.predecessor !== undefined) return undefined;
  const holds = await reads(settings, deps, (links) => hasOthers(links, known));
  return holds === undefined ? 'unreadable' : holds ? 'links' : undefined;
}

/** Whether some of these links are neither in a row nor in the known file. */
async function hasOthers(
  links: AsyncIterable<readonly string[]>,
  { checked, existing }: Known,
): Promise<boolean> {
  if (existing !== undefined) return await existing.lacks(links);
  let count = 0;
  let hash = 0;
  for await (const some of links) {
    if (checked.own === 0 && some.length > 0) return true;
    count += some.length;
    for (const link of some) hash = addHash(hash, link);
  }
  return count > 0 && (count !== checked.own || hash !== checked.ownHash);
}

/** The fingerprint of nothing: whatever is there is kept. */
const NO_CONTENT = '';

/** Keeps the output that is there under another name, whatever wrote it, and resolves to that name. */
export async function keepOutput(output: string): Promise<string | undefined> {
  try {
    return await keepChanged(await realpath(output), NO_CONTENT, NO_CONTENT);
  } catch (cause) {
    throw writeError(`${output}.old`, cause);
  }
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
  // Only the new results say why a row failed. Links that nothing else knows were saved before.
  const isFutile = hasNone && unsent > 0 && failed === 0 && !inPlace;
  if (!isFutile || (await reads(settings, deps, isAny)) !== true) return false;
  const message = `Nothing was created. ${output} keeps the links of an earlier run.`;
  deps.onEvent({ type: 'warning', message });
  return true;
}

async function isAny(links: AsyncIterable<readonly string[]>): Promise<boolean> {
  for await (const some of links) if (some.length > 0) return true;
  return false;
}

/** What `look` makes of the short URLs in the output; undefined where that can't be read as results. */
async function reads(
  { output, map }: ImportSettings,
  deps: ImportDeps,
  look: (links: AsyncIterable<readonly string[]>) => Promise<boolean>,
): Promise<boolean | undefined> {
  const stats = await stat(output).catch(() => undefined);
  if (!stats?.isFile() || stats.size === 0) return false;
  try {
    const input = await openInput(output, deps.stdin, deps.signal);
    try {
      return await look(linksIn(input, map));
    } finally {
      await input.dispose();
    }
  } catch {
    return undefined;
  }
}

async function* linksIn(input: Input, map: ImportSettings['map']): AsyncGenerator<string[]> {
  const layout = await detectLayout(input, { map, isMapOptional: true, inputFormat: 'auto' });
  for await (const rows of readRows(input, layout)) {
    yield rows.flatMap((row) => ownLink(row, layout)?.short_url ?? []);
  }
}
