import type { ImportSummary } from '../../../cli/src/import/types.ts';
import { LOOKUP_PATH } from '../../../sdk/test/scripted-service/look-up.ts';
import { REFUSED_TITLE } from '../../../sdk/test/scripted-service/scripted-service.ts';
import {
  contentOfLink,
  type Entry,
  type MadeLink,
  type Service,
} from '../../../sdk/test/scripted-service/service.ts';
import { contentOf, targetOf } from '../scenario/files.ts';
import type { RowPlan, Scenario, UserTraits } from '../scenario/scenario.ts';
import type { Exchange, Network } from '../world/network.ts';
import type { World } from '../world/world.ts';

/** All that the oracle sees. */
export interface Witness {
  scenario: Scenario;
  world: World;
  service: Service;
  network: Network;
  exitCodeOf: (summary: ImportSummary) => number;
}

/** Target URLs of rows that differ by their domain or their title. */
export function sharedTargets(rows: readonly RowPlan[], user: UserTraits): ReadonlySet<string> {
  const first = new Map<string, string>();
  const shared = new Set<string>();
  for (const row of rows) {
    const [target, { domain = '' }] = [targetOf(row), row];
    const link = `${user.hasDomains ? domain : ''} ${contentOf(row, user)}`;
    if ((first.get(target) ?? link) !== link) shared.add(target);
    first.set(target, link);
  }
  return shared;
}

/** What identifies a link: its target URL and domain. */
export type Pair = string;

export function pairOf(target: string, domain: string | undefined): Pair {
  return domain === undefined ? target : `${target}\n${domain}`;
}

/** The link that a row asks for. */
export function pairOfRow(row: RowPlan, user: UserTraits): Pair {
  return pairOf(targetOf(row), row.domain ?? user.domain);
}

/** How often each thing is there. */
export class Counts {
  readonly #counts = new Map<Pair, number>();

  add(pair: Pair, count = 1): void {
    this.#counts.set(pair, this.of(pair) + count);
  }

  of(pair: Pair): number {
    return this.#counts.get(pair) ?? 0;
  }

  /** Takes the larger count of each. */
  raise(other: Counts): void {
    for (const [pair, count] of other.#counts) {
      if (count > this.of(pair)) this.#counts.set(pair, count);
    }
  }

  /** How many things are in both. */
  shared(other: Counts): number {
    let count = 0;
    for (const [pair, own] of this.#counts) count += Math.min(own, other.of(pair));
    return count;
  }

  set(pair: Pair, count: number): void {
    this.#counts.set(pair, count);
  }

  entries(): Iterable<[Pair, number]> {
    return this.#counts;
  }
}

/** The links that rows ask for, and the same with their titles. */
export function countsOf(rows: readonly RowPlan[], user: UserTraits) {
  const [wanted, asked] = [new Counts(), new Counts()];
  for (const row of rows) {
    if (row.kind === 'invalid') continue;
    const pair = pairOfRow(row, user);
    wanted.add(pair);
    asked.add(`${pair}\n${contentOf(row, user)}`);
  }
  return { wanted, asked };
}

export function isCreate({ method, path }: Exchange): boolean {
  return method === 'POST' && path !== LOOKUP_PATH;
}

export interface Asked {
  pair: Pair;
  title: string | undefined;
  /** All that it says of the link beside target and domain. */
  content: string;
}

/** Requests don't change, and are looked at after each run. */
const asked = new WeakMap<Exchange, readonly Asked[]>();

/** The links that a request asks for. */
export function linksOf(exchange: Exchange): readonly Asked[] {
  const known = asked.get(exchange) ?? parseLinks(exchange);
  asked.set(exchange, known);
  return known;
}

function parseLinks(exchange: Exchange): Asked[] {
  const body = JSON.parse(exchange.body ?? '{}') as {
    domain_id?: string;
    links?: Entry[];
  };
  return (body.links ?? []).map((link) => ({
    pair: pairOf(link.target_url, link.domain_id ?? body.domain_id),
    title: link.title,
    content: contentOfLink(link),
  }));
}

/** Whether links may have come of a request, by all that its program was told. */
export function mayHaveWorked({ neverSent, received }: Exchange): boolean {
  if (neverSent) return false;
  if (received === undefined) return true;
  const { status, headers } = received;
  if (status === 503) return !/^\d+$/.test(headers['retry-after'] ?? '');
  return status < 400 || status === 408 || status >= 500;
}

/** How many links were asked for by requests that may have worked. */
export function linksSent(exchanges: readonly Exchange[]): number {
  const sent = exchanges.filter((exchange) => isCreate(exchange) && mayHaveWorked(exchange));
  return sent.reduce((sum, exchange) => sum + linksOf(exchange).length, 0);
}

/** With any other word, a job is over only once all of its results are there. */
const JOB_IS_OVER = ['completed', 'failed'];

/** Later requests with the same key, which were refused for the plan's limit. The client takes that for the end of all of them. */
function refusalsOf({ number, key }: Exchange, all: readonly Exchange[]): Exchange[] {
  return all.filter((other) => {
    const isLater = key !== undefined && other.key === key && other.number > number;
    return isLater && other.received?.status === 403;
  });
}

/** Whether links may have come of a request, by all that its program was told in this run. */
export function mayHaveMade(exchange: Exchange, ofRun: readonly Exchange[]): boolean {
  const mayBe = isCreate(exchange) && mayHaveWorked(exchange);
  return mayBe && refusalsOf(exchange, ofRun).length === 0;
}

/**
 * Whether the service did the work of a request that its client had given up on, after it had refused the same request for the plan's
 * limit, and the limit was raised in between.
 */
export function isWorkedTooLate(exchange: Exchange, all: readonly Exchange[]): boolean {
  const { received, workedTurn = 0 } = exchange;
  if (received !== undefined) return false;
  return refusalsOf(exchange, all).some(({ receivedTurn }) => receivedTurn < workedTurn);
}

/** Links since a run, and those that files name, as far as rows ask for them. Links that a decision has freed count where they are certain. */
export function countLinks({
  made,
  exchanges,
  firstRun,
  wanted,
  named,
  isCertain,
}: {
  made: readonly MadeLink[];
  exchanges: readonly Exchange[];
  firstRun: number;
  wanted: Counts;
  named: Counts;
  isCertain: (link: MadeLink) => boolean;
}): Counts {
  const counts = new Counts();
  for (const [pair, count] of named.entries()) counts.add(pair, Math.min(count, wanted.of(pair)));
  for (const link of made) {
    const exchange = exchanges[link.request - 1];
    if (exchange === undefined || exchange.run < firstRun) continue;
    if (!isWorkedTooLate(exchange, exchanges) && isCertain(link)) counts.add(pairOfLink(link));
  }
  return counts;
}

/** Rows to which results do not always belong for certain. */
export interface Doubts {
  hasRefusedRows: boolean;
  /** Target URLs of rows that differ otherwise, such as by their title: results do not say of which they are. */
  shared: ReadonlySet<string>;
}

/** Links of this pair that requests may have made, whose responses nobody has read. */
export function mayExist(
  pair: Pair,
  exchanges: readonly Exchange[],
  made: readonly MadeLink[],
  told: ReadonlySet<string>,
): number {
  let count = 0;
  for (const exchange of exchanges) {
    if (!isCreate(exchange)) continue;
    // An entry that was refused by name shares the fate of its batch, which is sent again without it.
    const isOpen = mayHaveWorked(exchange) || mayBeUnrecorded(exchange);
    for (const sent of linksOf(exchange)) {
      if (sent.pair === pair && (isOpen || sent.title === REFUSED_TITLE)) count += 1;
    }
  }
  for (const link of made) if (told.has(link.code) && pairOfLink(link) === pair) count -= 1;
  return count;
}

/** Whether a commit may have been of this response that failed, and was carried out: the run takes what it says for unknown, and the next one knows it. */
function mayBeUnrecorded({ process }: Exchange): boolean {
  return (
    process.journalFailedAt !== undefined &&
    process.diskFault?.only?.startsWith('commit kept') === true
  );
}

/** Codes that a program was told for certain: in a whole response, with time to write them down. */
export function toldCodes(exchange: Exchange, { hasRefusedRows, shared }: Doubts): string[] {
  const { method, received, receivedTurn, process } = exchange;
  const { killedAt, journalFailedAt } = process;
  if (received === undefined || received.status >= 300) return [];
  if (killedAt !== undefined && killedAt <= receivedTurn) return [];
  if (journalFailedAt !== undefined && journalFailedAt <= receivedTurn) return [];
  const answer = parse(received.body);
  if (!Array.isArray(answer?.results)) return [];
  // Without target URLs, results belong to links by their order, and only where none is missing.
  const isWhole = answer.results.length >= Number(answer.total ?? linksOf(exchange).length);
  const isNamed = answer.results.every(({ target_url }) => target_url !== undefined);
  const isInOrder = isWhole && !(hasRefusedRows && method === 'GET');
  if (!isNamed && !isInOrder) return [];
  // Of links to one target that differ otherwise, each has its code only where all have one.
  const lacking = answer.results.filter(({ code }) => !code).map(({ target_url }) => target_url);
  const isCertain = (target: string) =>
    !shared.has(target) || (isWhole && !lacking.includes(target));
  const codes = answer.results.flatMap(({ code, short_url, target_url = '' }) => {
    return code && short_url && (isInOrder || isCertain(target_url)) ? [code] : [];
  });
  if (method === 'POST') return answer.job_id === undefined ? codes : [];
  // A job that is completed while results of it are missing is asked again, maybe by the next run.
  if (!isWhole && !/fail|cancel|error|expired/i.test(String(answer.status))) return [];
  // The results of a job count when it is over.
  return isOver(answer) || (isWhole && answer.total !== undefined) ? codes : [];
}

/** Whether a response leaves out results: of links to one target, nobody can tell then which of them have theirs. */
export function lacksResults(exchange: Exchange): boolean {
  const answer = parse(exchange.received?.body ?? '');
  if (!Array.isArray(answer?.results)) return false;
  if (exchange.method === 'GET' && !isOver(answer)) return false;
  return answer.results.length < Number(answer.total ?? linksOf(exchange).length);
}

const NO_ORDER: Doubts = { hasRefusedRows: true, shared: new Set() };

/** Whether links may have come of a request whose codes its program was not told. */
export function isLeftOpen(exchange: Exchange): boolean {
  return (
    isCreate(exchange) && mayHaveWorked(exchange) && toldCodes(exchange, NO_ORDER).length === 0
  );
}

/** Whether a run has come to look at each request that earlier ones have left open. */
export function hasLookedAtKeys(summary: ImportSummary | undefined): boolean {
  if (summary === undefined || summary.dryRun) return false;
  return (summary.stopped?.reason ?? 'unknown') === 'unknown';
}

/** The job whose acceptance the program has certainly read. */
export function toldJob({ method, received, receivedTurn, process }: Exchange): string | undefined {
  if (method !== 'POST' || received?.status !== 202) return undefined;
  if (process.killedAt !== undefined && process.killedAt <= receivedTurn) return undefined;
  const id = parse(received.body)?.job_id;
  return id === undefined ? undefined : String(id);
}

function isOver({ status }: Answer): boolean {
  return JOB_IS_OVER.includes(String(status).toLowerCase());
}

interface Answer {
  results?: { target_url?: string; code?: string; short_url?: string }[];
  job_id?: string;
  status?: string;
  total?: number;
}

/** A response that holds an object; undefined where it holds something else. */
export function parse(body: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Answer) : undefined;
  } catch {
    return undefined;
  }
}

export function pairOfLink({ target, domain }: MadeLink): Pair {
  return pairOf(target, domain);
}

/** Links of which the program was told. */
export function toldLinks(made: readonly MadeLink[], codes: ReadonlySet<string>): Counts {
  const told = new Counts();
  for (const link of made) if (codes.has(link.code)) told.add(pairOfLink(link));
  return told;
}

/** Each row has one link at most. */
export function checkLinks(counted: Counts, wanted: Counts): void {
  for (const [pair, count] of counted.entries()) {
    if (count > wanted.of(pair)) {
      throw new Error(`${pair}: ${count} links for ${wanted.of(pair)} rows`);
    }
  }
}
