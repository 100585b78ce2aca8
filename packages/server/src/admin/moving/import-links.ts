import { checkTarget, type TargetRules } from '../../domain/targets.ts';
import { ownName } from '../../store/links.ts';
import {
  type Alias,
  ANY_DOMAIN,
  type ImportedLink,
  type ImportOutcome,
  type LinkImport,
} from '../../store/operator-store.ts';
import type { Domain } from '../../store/store.ts';
import { StoreError } from '../../store/store-error.ts';
import { CommandFailed, type Work } from '../command.ts';
import { AddressIndex } from './address-index.ts';
import { missingPages, openSource, type Source, type SourceRow } from './read-source.ts';
import { describe, type Format, formatOf, type SourceName } from './services.ts';
import { openSpool, type Spool } from './spool.ts';
import { type Reading, toLink } from './to-link.ts';

/** Links that are checked together: few, so that they are gone before the memory is searched for what is left. */
const CHECKED_TOGETHER = 256;

/** Links of one step: a server on the same database waits for some ten milliseconds. */
const WRITTEN_TOGETHER = 2_000;

/** Attempts at a step, while the database is busy. */
const MAX_ATTEMPTS = 5;
const MAX_PROBLEMS = 100;

export interface ImportSettings extends Pick<Reading, 'accountId' | 'hosts' | 'rules' | 'toAdd'> {
  /** Where several have one host, the last of these counts. Links of own exports may be on removed domains. */
  domains: readonly Domain[];
  /** `auto`: found by the columns of each file. */
  from: SourceName | 'auto';
  /** Checks everything, and writes nothing. */
  dryRun: boolean;
  written: Parameters<typeof openSource>[2];
}

export type ImportCounts = Record<'created' | 'extended' | 'exists', number>;

/**
 * Reads and checks everything, then writes what doesn't exist, so that a run that was killed is only run again.
 * @throws CommandFailed with the first of all problems, in the order of the files; nothing was written if they were there at first
 */
export async function importLinks(
  work: Work,
  names: readonly string[],
  settings: ImportSettings,
): Promise<ImportCounts> {
  const sources: Source[] = [];
  for (const name of names) sources.push(await openSource(name, work, settings.written));
  const { empty = [], full = [] } = Object.groupBy(sources, ({ columns, page }) =>
    columns.size === 0 && page !== undefined ? 'empty' : 'full',
  );
  for (const { name } of empty) work.err(`${name}: no links`);
  const files = full.map((source) => ({ source, ...formatOf(source, settings.from) }));
  for (const { source, ...format } of files) work.err(describe(source, format));
  for (const what of missingPages(sources)) work.err(`warning: pages are missing: ${what}`);
  const spool = await openSpool<Group>();
  work.atEnd(spool.close);
  const run = new Import(work, settings, files);
  try {
    const checked = await run.check(spool);
    return settings.dryRun ? checked : await run.write(spool, checked);
  } finally {
    run.sayProblems();
  }
}

type File = Format & { source: Source };

/** Links, where they stand (see `Import.check`), and why those that don't exist can't be created. */
type Group = { link: ImportedLink; place: number; refusal?: string | undefined }[];

class Import {
  readonly #work: Work;
  readonly #settings: ImportSettings;
  readonly #files: readonly File[];
  #index = new AddressIndex();
  /** The place before the first line of each file. */
  readonly #starts: number[] = [];
  readonly #saidHosts = new Set<unknown>();
  #refused = 0;
  /** The first problems, by the place of their row. */
  #problems: { place: number; problem: string }[] = [];
  /** The account that own exports name. */
  #account = '';
  #counts: ImportCounts = { created: 0, extended: 0, exists: 0 };
  /** Links that will be checked, or written, together. */
  #group: Group = [];

  constructor(work: Work, settings: ImportSettings, files: readonly File[]) {
    this.#work = work;
    this.#settings = settings;
    this.#files = files;
  }

  /** @param spool - Gets what is to be written: all but what exists already */
  async check(spool: Spool<Group>): Promise<ImportCounts> {
    const counted = new Map<string, number>();
    const lost = (what: string) => counted.set(what, (counted.get(what) ?? 0) + 1);
    const { next: flush, end } = oneBehind(async () => {
      await spool.add(await this.#flush((input) => this.#work.store.checkImport(input)));
    });
    const { now } = this.#work;
    const { rules, domains } = this.#settings;
    // When links that exist were created, other hosts may have been those of the service, or allowed.
    const ownRules = { ...rules, isOwnHost: () => false, fineOrigins: new Set<string>() };
    const lax = { ...ownRules, isAllowedHost: () => true, fineOrigins: new Set<string>() };
    // The place of a row: the lines of its file up to it, and those of the files before.
    let place = 0;
    for (const { source, fields, isOwn } of this.#files) {
      const start = place;
      this.#starts.push(start);
      const known = domains.filter(({ removed }) => isOwn || !removed);
      const byHost = new Map(known.map((one) => [ownName(one.hostname), one]));
      const reading = { ...this.#settings, domains: byHost, rules: lax, fields, isOwn, lost, now };
      for await (const rows of source.read()) {
        for (const row of rows) {
          place = start + row.line;
          this.#add(row, reading, isOwn ? ownRules : rules, place);
          if (this.#group.length === CHECKED_TOGETHER) await flush();
        }
      }
      await flush();
    }
    await end();
    if (this.#counts.created > 0 && this.#files.some(({ isOwn }) => isOwn)) {
      await this.#lookForIds();
    }
    for (const [what, links] of counted) {
      this.#work.err(`not kept: ${what} (${links === 1 ? '1 link' : `${links} links`})`);
    }
    const [rows, are] = this.#refused === 1 ? ['row', 'it is'] : ['rows', 'they are'];
    this.#end(`${rows} can't be imported as ${are}; nothing was written`, {});
    return this.#counts;
  }

  async write(spool: Spool<Group>, checked: ImportCounts): Promise<ImportCounts> {
    this.#counts = { created: 0, extended: 0, exists: checked.exists };
    // All addresses were compared. For a million links, the old index is a fifth of the memory.
    this.#index = new AddressIndex();
    const of = Math.ceil((checked.created + checked.extended) / WRITTEN_TOGETHER);
    let number = 0;
    const { next: flush, end } = oneBehind(() => {
      const step = { number, of };
      number += 1;
      return this.#flush((input) => this.#importLinks({ ...input, step }));
    });
    for await (const group of spool.read()) {
      this.#group.push(...group);
      if (this.#group.length >= WRITTEN_TOGETHER) await flush();
    }
    await flush();
    await end();
    const why = 'their addresses were taken, or their domain was removed, meanwhile';
    this.#end(`of the links were left out: ${why}`, this.#counts);
    return this.#counts;
  }

  /** Two imports of the same links take addresses from each other. Each step that lost one finds them taken when it is done again. */
  #importLinks(input: LinkImport, attempts = MAX_ATTEMPTS): Promise<ImportOutcome[]> {
    return this.#work.store.importLinks(input).catch((error: unknown) => {
      const isBusy = error instanceof StoreError && error.reason === 'busy';
      if (!isBusy || attempts === 1) throw error;
      return this.#importLinks(input, attempts - 1);
    });
  }

  /** @param newRules - for targets of links that don't exist */
  #add(row: SourceRow, reading: Reading, newRules: TargetRules, place: number): void {
    if (reading.isOwn) this.#sameAccount(row, place);
    try {
      if (row.problem !== undefined) throw new Error(row.problem);
      const link = toLink(row, reading);
      this.#refuseShared(link, place);
      const refusal = checkTarget(link.target_url, newRules);
      this.#group.push({ link, place, refusal: refusal && `target_url ${refusal}` });
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#problem(place, error.message, error.cause);
    }
  }

  /** Returns those of the group that did not exist. */
  async #flush(act: (input: LinkImport) => Promise<readonly ImportOutcome[]>): Promise<Group> {
    const group = this.#group;
    this.#group = [];
    if (group.length === 0) return group;
    const links = group.map(({ link }) => link);
    const outcomes = await act({ accountId: this.#settings.accountId, links });
    return group.filter(({ place, refusal }, at) => {
      const outcome = outcomes[at] as ImportOutcome;
      const { state } = outcome;
      if (state === 'conflict') {
        const { address, target_url, account_id } = outcome;
        const of = account_id === undefined ? '' : `, and is of account ${account_id}`;
        this.#problem(place, `${this.#shown(address)} leads to ${target_url} already${of}`);
      } else if (state === 'removed') {
        const host = this.#shown({ ...outcome, path: '' });
        this.#problem(place, `${host} was removed: add it again with domains add`, host);
      } else if (state === 'created' && refusal !== undefined) this.#problem(place, refusal);
      else this.#counts[state] += 1;
      return state === 'extended' || (state === 'created' && refusal === undefined);
    });
  }

  /** The links of an own export may go to another account. Those of several accounts would be mixed. */
  #sameAccount({ values }: SourceRow, place: number): void {
    const account = String(values.get('accountid') ?? '');
    this.#account ||= account;
    if (account === '' || account === this.#account) return;
    throw new CommandFailed(
      `${this.#where(place)}: this link is of account ${account}, and those before it of ${this.#account}. Import the lines of each account with its own --account, or export with --account; nothing was written`,
    );
  }

  /** @throws Error where an earlier row has for another link: one of its addresses, or the id that only own exports bring */
  #refuseShared({ id, code, domain_id, aliases, target_url }: ImportedLink, place: number): void {
    const sameId = code === undefined ? undefined : this.#index.add(id, code, place);
    if (sameId) throw new Error(`its id ${id} is that of another link in ${this.#where(sameId)}`);
    const own = code === undefined ? [] : [{ domain_id: domain_id ?? '', path: `/${code}` }];
    for (const address of [...own, ...aliases]) {
      const other = this.#index.add(address.domain_id + address.path, target_url, place);
      if (other === undefined) continue;
      throw new Error(`${this.#shown(address)} leads elsewhere in ${this.#where(other)}`);
    }
  }

  /** No index finds the id of a link, so all of them are gone through once. */
  async #lookForIds(): Promise<void> {
    await this.#work.store.exportLinks(undefined, async (links) => {
      for (const { id, code } of links) {
        const place = this.#index.find(id, code);
        if (place !== undefined) this.#problem(place, `its id ${id} is that of link ${code}`);
      }
    });
  }

  #where(place: number): string {
    const { name, unit, number } = this.#rowAt(place);
    return `${name}, ${unit} ${number}`;
  }

  #rowAt(place: number) {
    const file = this.#starts.findLastIndex((start) => start < place);
    const { name, unit } = (this.#files[file] as File).source;
    return { name, unit, number: place - (this.#starts[file] ?? 0) };
  }

  #shown({ domain_id, path }: Alias): string {
    if (domain_id === ANY_DOMAIN) return `the code ${path.slice(1)}`;
    const domain = this.#settings.domains.find(({ id }) => id === domain_id);
    return ownName(domain?.hostname ?? '') + path;
  }

  /** All that is wrong is counted, and listed up to a bound: that of a host once, however many rows have it. The database finds some later than those of rows below. */
  #problem(place: number, problem: string, host?: unknown): void {
    this.#refused += 1;
    if (!this.#saidHosts.has(host)) this.#problems.push({ place, problem });
    if (host !== undefined) this.#saidHosts.add(host);
    if (this.#problems.length >= 2 * MAX_PROBLEMS) this.#problems = this.#firstProblems();
  }

  #firstProblems() {
    return this.#problems.toSorted((a, b) => a.place - b.place).slice(0, MAX_PROBLEMS);
  }

  sayProblems(): void {
    for (const { place, problem } of this.#firstProblems()) {
      this.#work.err(`${this.#where(place)}: ${problem}`);
    }
  }

  #end(what: string, written: Partial<ImportCounts>): void {
    if (this.#refused === 0) return;
    const problems = this.#firstProblems().map(({ place, problem }) => {
      const { name: file, unit, number } = this.#rowAt(place);
      return { file, [unit]: number, problem };
    });
    throw new CommandFailed(`${this.#refused} ${what}`, {
      ...written,
      refused: this.#refused,
      problems,
    });
  }
}

/** Runs `work` once for each `next`, while the caller goes on. The following `next`, or `end`, waits for it, and throws what it has thrown. */
function oneBehind(work: () => Promise<unknown>) {
  let last: Promise<unknown> = Promise.resolve();
  const next = async () => {
    await last;
    last = work();
    last.catch(() => undefined);
  };
  return { next, end: () => last };
}
