import { addHash, linkIdentity, removeHash } from '../journal/link-text.ts';
import {
  type OwnLink,
  ownLink,
  partOfResultsGuard,
  refuseLostUrl,
  rowLink,
} from '../map/result-columns.ts';
import type { RowRules } from '../map/row-rules.ts';
import type { Layout } from '../read/layout.ts';
import type { Input } from '../read/open-input.ts';
import { readRows } from '../read/read-rows.ts';
import type { RejectsFile } from '../report/rejects.ts';
import type { ImportDeps, ImportSettings, Reject, Row } from '../types.ts';
import type { ExistingLinks } from './existing-links.ts';
import { RowSet } from './row-set.ts';
import { Sightings } from './sightings.ts';

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
  /** By its number, why a row is rejected that is the copy of another one. */
  copies: Map<number, string>;
}

const NOTHING = { rows: 0, rejected: 0, own: 0, ownHash: 0, doubtful: 0 };

/**
 * Checks every row before anything is sent, so that a bad line 900,000 is known before line 1 is sent. Undefined when
 * the user stopped it.
 */
export async function checkInput(
  source: Source,
  settings: Pick<ImportSettings, 'defaults' | 'baseUrl'>,
  existing: ExistingLinks | undefined,
  rejects: RejectsFile | undefined,
  deps: Pick<ImportDeps, 'onEvent' | 'signal' | 'stopSignal'>,
): Promise<Checked | undefined> {
  const { input, layout, rules } = source;
  const found = { ...NOTHING, rejectedRows: new RowSet(), copies: new Map<number, string>() };
  const firstRejects: Reject[] = [];
  const reject = rejecter(found, firstRejects, rejects);
  const sightings = new Sightings();
  const repeated = new Set<string>();
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
        if (sightings.add(own.short_url)) repeated.add(own.short_url);
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
    await reject(bad);
    if (found.rows - announced >= EVENT_STEP) {
      announced = found.rows;
      deps.onEvent({ type: 'validating', rows: found.rows, bytesRead, bytesTotal: input.size });
    }
  }
  for await (const copy of findCopies(source, repeated, settings)) {
    countCopy(copy, found);
    existing?.removeRow(copy.number);
    await reject([copy]);
  }
  const { rows, rejected } = found;
  deps.onEvent({ type: 'validated', plan: layout.plan, rows, rejected, firstRejects });
  return found;
}

/** Counts rejected rows, keeps the first ones to be shown, and writes all of them to the rejects file. */
function rejecter(found: Checked, first: Reject[], rejects: RejectsFile | undefined) {
  return async (bad: readonly { row: Row; reason: string }[]) => {
    for (const { row, reason } of bad.slice(0, FIRST_REJECTS - first.length)) {
      first.push({ line: row.line, reason });
    }
    found.rejected += bad.length;
    await rejects?.add(bad);
  };
}

interface Copy {
  /** The number of the row. */
  number: number;
  row: Row;
  own: OwnLink;
  reason: string;
}

/** The row was counted as one that names its link. */
function countCopy({ number, own, reason }: Copy, found: Checked): void {
  found.own -= 1;
  found.ownHash = removeHash(found.ownHash, own.short_url);
  found.rejectedRows.add(number);
  found.copies.set(number, reason);
}

/**
 * Finds the rows whose results were copied together with another row: their short URL is that of an earlier row, which asks for another link.
 * Reads the input once more where any short URL may be there twice.
 */
async function* findCopies(
  { input, layout, rules }: Source,
  repeated: ReadonlySet<string>,
  { defaults }: Pick<ImportSettings, 'defaults'>,
): AsyncGenerator<Copy> {
  if (repeated.size === 0) return;
  const firsts = new Map<string, { line: number; pair: string }>();
  let number = 0;
  for await (const rows of readRows(input, layout)) {
    for (const row of rows) {
      const own = ownLink(row, layout);
      if (own !== undefined && repeated.has(own.short_url)) {
        const { pair } = linkIdentity(rules.link(row), defaults.domain_id);
        const first = firsts.get(own.short_url);
        if (first === undefined) firsts.set(own.short_url, { line: row.line, pair });
        else if (first.pair !== pair) {
          const reason = `its short_url is that of line ${first.line}: clear code and short_url to create a link`;
          yield { number, row, own, reason };
        }
      }
      number += 1;
    }
  }
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
