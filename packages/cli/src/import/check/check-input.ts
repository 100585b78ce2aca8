import { type Input, readRows } from '@shortlink/tables';
import type { Row } from '@shortlink/tables/basics';
import type { Layout } from '../layout.ts';
import { fitOf, linkIdentity } from '../map/link-identity.ts';
import { claimOf, lostLinkGuard } from '../map/result-columns.ts';
import type { RowRules } from '../map/row-rules.ts';
import type { RejectsFile } from '../report/rejects.ts';
import type { ImportDeps, ImportSettings, Reject } from '../types.ts';
import type { Evidence } from './evidence.ts';
import { RowSet } from './row-set.ts';

/** Rejects that an event names. */
const FIRST_REJECTS = 10;

/** Rows between two `validating` events. */
const EVENT_STEP = 50_000;

/** An input, and how it is read. */
export interface ImportSource {
  input: Input;
  layout: Layout;
  rules: RowRules;
  /** Throws when the input is no longer the file that was opened. */
  guard: () => Promise<void>;
}

/** What the first pass over the input found. */
export interface Checked {
  rows: number;
  rejected: number;
  rejectedRows: RowSet;
  /** Rows that say themselves that their link exists, or may exist. */
  claims: number;
}

/** Checks every row before anything is sent. Undefined when the user stopped it. */
export async function checkInput(
  { input, layout, rules }: ImportSource,
  { defaults }: ImportSettings,
  evidence: Evidence,
  rejects: RejectsFile | undefined,
  deps: ImportDeps,
  /** Addresses that short URLs of the service begin with. */
  origins: readonly string[],
): Promise<Checked | undefined> {
  const found: Checked = { rows: 0, rejected: 0, rejectedRows: new RowSet(), claims: 0 };
  const firstRejects: Reject[] = [];
  const refuse = lostLinkGuard(input.name, layout, origins);
  let bytesRead = 0;
  let announced = 0;
  const batches = readRows(input, layout, (bytes) => {
    bytesRead += bytes;
  });
  for await (const batch of batches) {
    if (deps.signal.aborted || deps.stopSignal.aborted) return undefined;
    const bad: { row: Row; reason: string }[] = [];
    for (const row of batch) {
      refuse(row);
      const claim = claimOf(input.name, row, layout);
      const { link, problem: reason } = rules.check(row);
      const { own, doubt } = claim;
      const isClaim = own !== undefined || doubt !== undefined;
      const needsIdentity = isClaim || evidence.keepsRows;
      const identity = needsIdentity ? linkIdentity(link, defaults.domain_id) : undefined;
      const hasOwn = own !== undefined && identity && fitOf(identity, own.made_for) !== 0;
      if (hasOwn || reason === undefined) {
        if (isClaim) found.claims += 1;
        evidence.named.add(input.name, own);
        if (identity !== undefined) evidence.addRow(found.rows, claim, identity);
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

/** Adds the rows to a comparison again. Reads the input once more. */
export async function addRows(
  { input, layout, rules }: ImportSource,
  { rejectedRows }: Checked,
  { defaults }: ImportSettings,
  evidence: Evidence,
): Promise<void> {
  let number = 0;
  for await (const rows of readRows(input, layout)) {
    for (const row of rows) {
      if (!rejectedRows.has(number)) {
        const identity = linkIdentity(rules.link(row), defaults.domain_id);
        evidence.addRow(number, claimOf(input.name, row, layout), identity);
      }
      number += 1;
    }
  }
}
