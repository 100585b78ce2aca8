import { addHash, linkIdentity } from '../journal/link-text.ts';
import { partOfResultsGuard, refuseLostUrl, rowLink } from '../map/result-columns.ts';
import type { RowRules } from '../map/row-rules.ts';
import type { Layout } from '../read/layout.ts';
import type { Input } from '../read/open-input.ts';
import { readRows } from '../read/read-rows.ts';
import type { RejectsFile } from '../report/rejects.ts';
import type { ImportDeps, ImportSettings, Reject, Row } from '../types.ts';
import type { ExistingLinks } from './existing-links.ts';
import { RowSet } from './row-set.ts';

/** Rejects that are shown at once; all of them are in the rejects file. */
const FIRST_REJECTS = 10;

/** Rows between two `validating` events. */
const EVENT_STEP = 50_000;

/** An input, and how it is read. */
export interface Source {
  input: Input;
  layout: Layout;
  rules: RowRules;
  /** Throws when the input is no longer the file that was opened. */
  guard: () => Promise<void>;
}

/** What the first pass over the input found. */
export interface Checked {
  /** Rows that hold something, the header apart. */
  rows: number;
  /** Rows that can't be sent. */
  rejected: number;
  rejectedRows: RowSet;
  /** Rows that name their link themselves. */
  own: number;
  /** A hash of their short URLs. */
  ownHash: number;
  /** Rows that say themselves that their link may exist. */
  doubtful: number;
}

/**
 * Checks every row before anything is sent, so that a bad line 900,000 is known before line 1 is sent. Undefined when
 * the user stopped it.
 */
export async function checkInput(
  { input, layout, rules }: Source,
  settings: Pick<ImportSettings, 'defaults' | 'baseUrl'>,
  existing: ExistingLinks | undefined,
  rejects: RejectsFile | undefined,
  deps: Pick<ImportDeps, 'onEvent' | 'signal' | 'stopSignal'>,
): Promise<Checked | undefined> {
  const firstRejects: Reject[] = [];
  const rejectedRows = new RowSet();
  const found: Checked = { rows: 0, rejected: 0, rejectedRows, own: 0, ownHash: 0, doubtful: 0 };
  const refusePart = partOfResultsGuard(input.name, layout, new URL(settings.baseUrl).origin);
  let bytesRead = 0;
  let announced = 0;
  const batches = readRows(input, layout, (bytes) => {
    bytesRead += bytes.length;
  });
  for await (const batch of batches) {
    if (deps.signal.aborted || deps.stopSignal.aborted) return undefined;
    const bad: Array<{ row: Row; reason: string }> = [];
    for (const row of batch) {
      refusePart(row);
      refuseLostUrl(input.name, row, layout);
      const named = rowLink(row, layout);
      const { own } = named;
      const { link, problem: reason } = rules.check(row);
      if (own !== undefined) {
        found.own += 1;
        found.ownHash = addHash(found.ownHash, own.short_url);
      }
      if (own !== undefined || reason === undefined) {
        if (named.doubt !== undefined) found.doubtful += 1;
        if (existing !== undefined) {
          const identity = linkIdentity(link, settings.defaults.domain_id);
          existing.addRow(found.rows, named, identity);
        }
      } else {
        bad.push({ row, reason });
        found.rejectedRows.add(found.rows);
      }
      found.rows += 1;
    }
    for (const { row, reason } of bad.slice(0, FIRST_REJECTS - firstRejects.length)) {
      firstRejects.push({ line: row.line, reason });
    }
    found.rejected += bad.length;
    await rejects?.add(bad);
    if (found.rows - announced >= EVENT_STEP) {
      announced = found.rows;
      deps.onEvent({ type: 'validating', rows: found.rows, bytesRead, bytesTotal: input.size });
    }
  }
  const { rows, rejected } = found;
  deps.onEvent({ type: 'validated', plan: layout.plan, rows, rejected, firstRejects });
  return found;
}

/** Adds the rows to a comparison that was not there when they were checked. Reads the input once more. */
export async function addRows(
  { input, layout, rules }: Source,
  { rejectedRows }: Checked,
  { defaults }: Pick<ImportSettings, 'defaults'>,
  existing: ExistingLinks,
): Promise<void> {
  let number = 0;
  for await (const rows of readRows(input, layout)) {
    for (const row of rows) {
      if (!rejectedRows.has(number)) {
        const identity = linkIdentity(rules.link(row), defaults.domain_id);
        existing.addRow(number, rowLink(row, layout), identity);
      }
      number += 1;
    }
  }
}
