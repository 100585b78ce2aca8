import { basename, resolve } from 'node:path';
import { inputError } from '@shortlink/tables/basics';
import { plural, present } from '../../format.ts';
import { isStream } from '../is-stream.ts';
import type { Journal } from '../journal/journal.ts';
import type { Layout } from '../layout.ts';
import { LEAST_COLUMNS } from '../map/result-columns.ts';
import { fingerprint } from '../report/keep-changed.ts';
import { type ImportDeps, type ImportSettings, NO_SERVICE } from '../types.ts';
import type { Checked } from './check-input.ts';
import { Evidence } from './evidence.ts';
import { KNOWN_BY } from './evidence-sql.ts';
import type { Comparison } from './read-evidence.ts';
import { isFilled, readLinks } from './read-links.ts';

/** Gathers what this machine knows of links, best first: the journal, results beside the input, files of `--known`. */
export async function gatherEvidence(
  journal: Journal,
  settings: ImportSettings,
  deps: ImportDeps,
  { plan, isOfLines }: Layout,
): Promise<Evidence> {
  const { known = [], output } = settings;
  const mayClaim = LEAST_COLUMNS.some((column) => plan.columns.includes(column));
  const evidence = new Evidence(journal, mayClaim);
  evidence.record = await unknownRecord(journal, settings);
  const isRecord = evidence.record !== undefined;
  // Rows and links are compared side by side only where no other file knows of links.
  if (known.length > 0 || isRecord) evidence.begin('sorted');
  const files = { isOfLines: isOfLines || plan.format === 'jsonl' };
  if (isRecord) {
    // Where the journal knows other services only, they may be results of those, but for links on the host of this one.
    const only = isOfOthers(journal) ? new URL(settings.baseUrl).origin : undefined;
    const results = { ...files, path: output, source: KNOWN_BY.results, mayBeOther: true, only };
    await readLinks(results, evidence, settings, deps);
  }
  for (const path of known) {
    const isOutput = resolve(path) === resolve(output);
    if (isRecord && isOutput) continue;
    const source = isOutput ? KNOWN_BY.results : KNOWN_BY.known;
    const missing = await readLinks({ ...files, path, source }, evidence, settings, deps);
    if (missing.length === 0) continue;
    throw inputError(
      `${basename(path)} is no whole results file: it has no column ${missing.join(', ')}`,
      'Give --known the results file of an earlier import.',
    );
  }
  return evidence;
}

/** The fingerprint of the results that are there, where they are not those that the journal knows to be written last. */
async function unknownRecord(journal: Journal, { output, inPlace, restart }: ImportSettings) {
  if (inPlace || restart || isStream(output) || !(await isFilled(output))) return undefined;
  const record = await fingerprint(output);
  return isOfOthers(journal) || !journal.hasWritten(record) ? record : undefined;
}

function isOfOthers(journal: Journal): boolean {
  return !journal.hasLinks() && journal.otherServices().length > 0;
}

/** What the user may not expect of the comparison. */
export function surprises(
  found: Comparison,
  { rows, claims }: Checked,
  journal: Journal,
  { known = [], output, baseUrl, restart }: ImportSettings,
): string[] {
  const messages: string[] = [];
  const others = known.filter((path) => resolve(path) !== resolve(output));
  if (others.length > 0 && rows > 0 && !found.usesKnown) {
    messages.push(
      `No row asks for a link of ${others.join(', ')} (--known): are the target URLs there those of this file?`,
    );
  }
  const services = known.length === 0 && !journal.hasLinks() ? journal.otherServices() : [];
  if (services.length > 0 && found.new + claims > 0 && baseUrl !== NO_SERVICE) {
    const isNew = `${plural(found.new, 'row is', 'rows are')} not known there yet`;
    const keep = `${plural(claims, 'row keeps the link that it names', 'rows keep the links that they name')}, wherever that is`;
    messages.push(
      `The journal has links of ${services.join(', ')}, and none of ${journal.service}: ${present(found.new > 0 && isNew, claims > 0 && keep).join(', and ')}.`,
    );
  }
  if (restart && claims > 0) {
    const many = 'rows name their links themselves and are';
    messages.push(
      `${plural(claims, 'row names its link itself and is', many)} not created again by --restart. To create a row again, clear its code, short_url, status and error.`,
    );
  }
  return messages;
}

/** Says how the rows compare, once everything that can know was asked. */
export function announce(
  { new: isNew, existing, changed, changedLines, gone, goneLinks, former }: Comparison,
  { onEvent }: ImportDeps,
): void {
  if (former.lines > 0) {
    const rows = plural(former.lines, 'row asks', 'rows ask');
    const message = `${rows} for another link than before, and the old one still leads to the old target (${former.first}).`;
    onEvent({ type: 'warning', message });
  }
  const counts = { existing, changed, changedLines, gone, goneLinks };
  onEvent({ type: 'compared', new: isNew, ...counts });
}
