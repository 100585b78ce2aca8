import { dirname } from 'node:path';
import type { MadeLink } from '../../../sdk/test/scripted-service/service.ts';
import { parseResults } from '../scenario/file-text.ts';
import type { Paths, ResultRow } from '../scenario/files.ts';
import type { RowPlan, RunPlan, UserTraits } from '../scenario/scenario.ts';
import type { Decisions } from '../scenario/settings.ts';
import type { Disk, FileNode } from '../world/disk.ts';
import { isJournal, openLinks, recordedCodes, recordedKeys } from './journal-rules.ts';
import { Counts, countsOf, type Pair, pairOf, pairOfLink } from './ledger.ts';

/** A copy of its own, in which nobody plants a bug: that of the programs is loaded later, with its patches. */
const LINK_IDENTITY = '../../../cli/src/import/map/link-identity.ts?of-the-oracle';
const { fitOf, linkIdentity }: typeof import('../../../cli/src/import/map/link-identity.ts') =
  await import(LINK_IDENTITY);

/** What the files beside an input say of links, at one moment. */
export interface Evidence {
  /** Links of each pair that exist for sure. */
  links: Counts;
  /**
   * The same links where no file was lost: it, or a row of it, may have been the only one to name a link, or the user may have decided
   * against it.
   */
  named: Iterable<MadeLink>;
  /** The same, with those that may exist. */
  taken: Counts;
  /** Links of each pair once all requests of the journal were sent again as they were, for whichever of their rows are left. */
  repeated: Counts;
  /** Codes that the journal knows. */
  codes: ReadonlySet<string>;
  /** Keys of the requests in it. */
  keys: readonly string[];
  /** Rows of which files say that their links may exist, once for each file but the own journal. */
  doubts: Counts;
}

export const NO_EVIDENCE: Evidence = {
  links: new Counts(),
  named: [],
  taken: new Counts(),
  repeated: new Counts(),
  codes: new Set(),
  keys: [],
  doubts: new Counts(),
};

interface Reading {
  disk: Disk;
  paths: Paths;
  user: UserTraits;
  made: readonly MadeLink[];
  decisions: Decisions;
}

/**
 * Reads everything in the folder that names links: journals and results, also copies and those of an input with another name. A link
 * that two files name is one link. What a file says of rows that may have a link is added to the links of that file alone, since another
 * one may know which links they are.
 */
export function readEvidence(reading: Reading): Evidence {
  const { disk, paths, user, made } = reading;
  const byCode = new Map(made.map((link) => [link.code, link]));
  const all = new Set<MadeLink>();
  const taken = new Counts();
  const doubts = new Counts();
  let codes: ReadonlySet<string> = new Set();
  let open = new Counts();
  for (const [path, file] of disk.names) {
    if (dirname(path) !== paths.folder || isLeft(path)) continue;
    const says = isJournal(path) ? readJournal(file) : readRows(file, user, byCode);
    if (path === paths.journal) ({ codes, open } = says);
    // What an import has set aside is looked into where nothing else says which links there are.
    const isOld = /\.old\d*$/.test(path);
    if (!isOld && !isUsed(path, reading)) continue;
    if (path !== paths.journal)
      for (const [pair, count] of says.open.entries()) doubts.add(pair, count);
    if (isOld) continue;
    const own = [...says.codes].flatMap((code) => byCode.get(code) ?? []);
    for (const link of own) all.add(link);
    const ofFile = countPairs(own);
    for (const [pair, count] of says.open.entries()) ofFile.add(pair, count);
    taken.raise(ofFile);
  }
  const links = countPairs(all);
  taken.raise(links);
  const repeated = countPairs(all);
  for (const [pair, count] of open.entries()) repeated.add(pair, count);
  const keys = recordedKeys(disk.get(paths.journal));
  return { links, named: user.losesFiles ? [] : all, taken, repeated, codes, keys, doubts };
}

/**
 * Whether links may be known no more: of one whose target was written over, nothing but the journal knows what it was made for, and of a row that
 * is no longer in a filled file.
 *
 * @param before - rows whose links the journal may not know, since it was lost
 */
export function hasForgotten(plan: RunPlan, before: readonly RowPlan[], user: UserTraits): boolean {
  const { losesJournal, losses, rows } = plan;
  const { wanted } = countsOf(rows, user);
  const isLess = ([pair, count]: [Pair, number]) => wanted.of(pair) < count;
  const isFilled = user.inPlace || user.importsResults;
  const hasRemoved = isFilled && [...countsOf(before, user).wanted.entries()].some(isLess);
  return (
    losesJournal || losses.length > 0 || hasRemoved || rows.some(({ was }) => was !== undefined)
  );
}

/** Whether what a file says counts: not that of files under other names, where the user has decided against them. */
function isUsed(path: string, { paths, user, decisions }: Reading): boolean {
  const { known, onSimilar } = decisions;
  if (path === known || path === paths.journal) return true;
  // Without losses, only what the user names is read.
  if (!user.losesFiles) return (user.inPlace || user.importsResults) && path === paths.input;
  return onSimilar !== 'create' || Object.values(paths).includes(path);
}

/** Files that a run has left behind when it was killed. */
function isLeft(path: string): boolean {
  return /\.tmp$|\/\.[^/]*$/.test(path);
}

type Says = Pick<Evidence, 'codes'> & { open: Counts };

function readJournal(file: FileNode): Says {
  return { codes: recordedCodes(file), open: openLinks(file) };
}

const NOTHING = '';

/** What stands in a row with another target than its link has is that of a row that was edited or copied. */
function readRows(file: FileNode, user: UserTraits, made: ReadonlyMap<string, MadeLink>): Says {
  const text = file.bytes.toString();
  // Of a line that is cut, nobody can tell how it went on.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1);
  const rows = lines === NOTHING ? [] : (parseResults(lines) ?? []);
  const open = new Counts();
  const codes = new Set<string>();
  for (const row of rows) {
    const pair = pairOfResult(row, user);
    const link = { target_url: row.target, domain_id: row.domain || user.domain };
    const identity = linkIdentity(link, undefined);
    if (row.status === 'unknown' && fitOf(identity, row.made_for) !== 0) open.add(pair);
    const own = made.get(row.code);
    if (own !== undefined && pairOfLink(own) === pair) codes.add(row.code);
  }
  return { codes, open };
}

function pairOfResult({ target, domain }: ResultRow, user: UserTraits): Pair {
  return pairOf(target, domain || user.domain);
}

/** How many links there are of each pair. */
export function countPairs(links: Iterable<MadeLink>): Counts {
  const counts = new Counts();
  for (const link of links) counts.add(pairOfLink(link));
  return counts;
}
