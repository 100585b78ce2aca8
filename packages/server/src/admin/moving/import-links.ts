import type { Alias, ImportedLink, ImportOutcome, LinkImport } from '../../store/operator-store.ts';
import type { Store } from '../../store/store.ts';
import { CommandFailed } from '../command.ts';
import { AddressIndex } from './address-index.ts';
import type { Source, SourceRow } from './read-source.ts';
import { fieldsOf, OWN, recognise, type Service, SOURCES, type SourceName } from './services.ts';
import { type Reading, toLink, UnknownHost } from './to-link.ts';

/** Links that are checked together, and then are of no more use: few, so that they are gone before the memory is searched for what is left. */
const CHECKED_TOGETHER = 256;

/** Links of one step: a server on the same database waits for some ten milliseconds. */
const WRITTEN_TOGETHER = 2_000;

/** Problems that are listed. */
const MAX_PROBLEMS = 100;

export interface ImportSettings extends Pick<Reading, 'domains' | 'hosts' | 'now' | 'rules'> {
  accountId: string;
  /** @default found by the columns of each file */
  from?: SourceName | undefined;
  /** Checks everything, and writes nothing. */
  dryRun: boolean;
  /** Receives a line for a person. */
  say: (line: string) => void;
}

/** Links by what became of them, or would with `dryRun`. */
export type ImportCounts = Record<'created' | 'extended' | 'exists', number>;

/**
 * Reads and checks everything, then writes it. What exists already is left alone, so that a run that was killed is only run again.
 *
 * @throws CommandFailed once all problems were said; nothing was written if they were there at first
 */
export async function importLinks(
  store: Pick<Store, 'checkImport' | 'importLinks'>,
  sources: readonly Source[],
  settings: ImportSettings,
): Promise<ImportCounts> {
  const files = sources.map((source) => ({ source, from: sourceOf(source, settings.from) }));
  for (const { source, from } of files) settings.say(describe(source, from));
  const checked = await new Pass(settings, files, store).run();
  return settings.dryRun ? checked : new Pass(settings, files, store, false).run();
}

function sourceOf({ name, columns }: Source, from: SourceName | undefined): SourceName {
  const found = from ?? recognise(columns);
  if (found !== undefined) return found;
  throw new CommandFailed(
    `${name}: its columns are those of no known service (${[...columns].join(', ')}); say which it is: --from ${SOURCES.join('|')}`,
  );
}

/** What an export may lack, and what is taken instead. */
const LACKS = {
  title: 'titles',
  tags: 'tags',
  clicks: 'clicks (they begin at 0)',
  created: 'creation times (they are now)',
  off: 'states (all links are active)',
  redirectType: 'redirect types (they are 302)',
} satisfies Partial<Record<keyof Service, string>>;

function describe({ name, columns }: Source, from: SourceName): string {
  if (from === OWN) return `${name}: an export of this service`;
  const fields = fieldsOf(from);
  const lacking = (Object.keys(LACKS) as (keyof typeof LACKS)[])
    .filter((field) => !fields[field]?.some((column) => columns.has(column)))
    .map((field) => LACKS[field]);
  const without = lacking.length === 0 ? '' : `, without ${lacking.join(', ')}`;
  return `${name}: an export of ${from}${without}`;
}

interface File {
  source: Source;
  from: SourceName;
}

/** Bits of a line in the place of a row; the file is above them. */
const LINES = 2 ** 26;

/** One reading of all files. The first one checks, and the second one writes. */
class Pass {
  readonly #settings: ImportSettings;
  readonly #files: readonly File[];
  readonly #isCheck: boolean;
  readonly #act: (input: LinkImport) => Promise<readonly ImportOutcome[]>;
  readonly #index = new AddressIndex();
  readonly #counts: ImportCounts = { created: 0, extended: 0, exists: 0 };
  readonly #lost = new Map<string, number>();
  readonly #saidHosts = new Set<string>();
  #problems = 0;
  /** The account that own exports name. */
  #account = '';
  /** Links that wait for each other, and the lines that they stand on. */
  #links: ImportedLink[] = [];
  #lines: number[] = [];

  constructor(
    settings: ImportSettings,
    files: readonly File[],
    store: Pick<Store, 'checkImport' | 'importLinks'>,
    isCheck = true,
  ) {
    this.#settings = settings;
    this.#files = files;
    this.#isCheck = isCheck;
    this.#act = (input) => (isCheck ? store.checkImport(input) : store.importLinks(input));
  }

  async run(): Promise<ImportCounts> {
    const together = this.#isCheck ? CHECKED_TOGETHER : WRITTEN_TOGETHER;
    const lost = (what: string) => this.#lost.set(what, (this.#lost.get(what) ?? 0) + 1);
    for (const [file, { source, from }] of this.#files.entries()) {
      const isOwn = from === OWN;
      const reading = { ...this.#settings, fields: fieldsOf(from), isOwn, lost };
      for await (const rows of source.read()) {
        for (const row of rows) {
          this.#add(row, reading, file);
          if (this.#links.length === together) await this.#flush(file);
        }
      }
      await this.#flush(file);
    }
    this.#end();
    return this.#counts;
  }

  #add(row: SourceRow, reading: Reading, file: number): void {
    if (reading.isOwn) this.#sameAccount(row, file);
    try {
      const link = toLink(row, reading);
      const problem = this.#isCheck ? this.#sharedBefore(link, file, row.line) : undefined;
      if (problem !== undefined) throw new Error(problem);
      this.#links.push(link);
      this.#lines.push(row.line);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const host = error instanceof UnknownHost ? error.host : undefined;
      this.#problem(`${this.#where(file, row.line)}: ${error.message}`, host);
    }
  }

  async #flush(file: number): Promise<void> {
    const [links, lines] = [this.#links, this.#lines];
    [this.#links, this.#lines] = [[], []];
    const outcomes = await this.#act({ accountId: this.#settings.accountId, links });
    for (const [at, outcome] of outcomes.entries()) {
      if (outcome.state !== 'conflict') this.#counts[outcome.state] += 1;
      else {
        const { address, target_url } = outcome;
        const where = this.#where(file, lines[at] ?? 0);
        this.#problem(`${where}: ${this.#shown(address)} leads to ${target_url} already`);
      }
    }
  }

  /** The links of an own export may go to another account. Those of several accounts would be mixed. */
  #sameAccount({ line, values }: SourceRow, file: number): void {
    const account = String(values.get('accountid') ?? '');
    const before = this.#account;
    this.#account ||= account;
    if (account === '' || account === this.#account) return;
    throw new CommandFailed(
      `${this.#where(file, line)}: this link is of account ${account}, and those before it of ${before}. Import the lines of each account with its own --account, or export with --account; nothing was written`,
    );
  }

  /** What an earlier row has, too, and for another link: an address, or the id that only own exports bring. */
  #sharedBefore({ id, code, ...link }: ImportedLink, file: number, line: number) {
    const { domain_id, aliases, target_url } = link;
    const row = Math.min(file, 63) * LINES + line;
    const at = (place: number) => this.#where(Math.floor(place / LINES), place % LINES);
    const sameId = code === undefined ? undefined : this.#index.add(id, code, row);
    if (sameId !== undefined) return `its id ${id} is that of another link in ${at(sameId)}`;
    const own = code === undefined ? [] : [{ domain_id: domain_id ?? '', path: `/${code}` }];
    for (const address of [...own, ...aliases]) {
      const place = this.#index.add(address.domain_id + address.path, target_url, row);
      if (place !== undefined) return `${this.#shown(address)} leads elsewhere in ${at(place)}`;
    }
    return undefined;
  }

  #where(file: number, line: number): string {
    return `${this.#files[file]?.source.name}, line ${line}`;
  }

  #shown({ domain_id, path }: Alias): string {
    const [host = ''] = [...this.#settings.domains].find(([, id]) => id === domain_id) ?? [];
    return host + path;
  }

  /** All that is wrong is said, up to a bound, before the import is refused: that of a host once, however many rows have it. */
  #problem(problem: string, host?: string): void {
    this.#problems += 1;
    const isSaid = host !== undefined && this.#saidHosts.has(host);
    if (host !== undefined) this.#saidHosts.add(host);
    if (!isSaid && this.#problems <= MAX_PROBLEMS) this.#settings.say(problem);
  }

  /** @throws CommandFailed if there were any problems */
  #end(): void {
    for (const [what, links] of this.#isCheck ? this.#lost : []) {
      this.#settings.say(`not kept: ${what} (${links} links)`);
    }
    const count = this.#problems;
    if (count === 0) return;
    const [rows, are] = count === 1 ? ['1 row', 'it is'] : [`${count} rows`, 'they are'];
    throw new CommandFailed(
      this.#isCheck
        ? `${rows} can't be imported as ${are}; nothing was written`
        : `${rows} left out: another process took their addresses meanwhile`,
    );
  }
}
