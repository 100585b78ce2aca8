import type { BodyRules } from '../../domain/validate-link.ts';
import type { Alias, ImportedLink, ImportOutcome, LinkImport } from '../../store/operator-store.ts';
import type { Store } from '../../store/store.ts';
import { CommandFailed } from '../command.ts';
import { AddressIndex } from './address-index.ts';
import type { Source, SourceRow } from './read-source.ts';
import { OWN, recognise, SERVICES, type Service, SOURCES, type SourceName } from './services.ts';
import { type Reading, toLink, UnknownHost } from './to-link.ts';

/** Links of one step: a server on the same database waits for some ten milliseconds. */
const LINKS_TOGETHER = 2_000;

/** Problems that are listed. */
const MAX_PROBLEMS = 100;

export interface ImportSettings extends Pick<Reading, 'domains' | 'hosts' | 'now'> {
  accountId: string;
  /** @default found by the columns of each file */
  from?: SourceName | undefined;
  rules: BodyRules;
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
  const read = sources.map((source) => ({ source, from: sourceOf(source, settings.from) }));
  for (const { source, from } of read) settings.say(describe(source, from));
  const checked = await pass(read, settings, (input) => store.checkImport(input), true);
  if (settings.dryRun) return checked;
  return pass(read, settings, (input) => store.importLinks(input), false);
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
  const service: Service = SERVICES[from];
  const lacking = (Object.keys(LACKS) as (keyof typeof LACKS)[])
    .filter((field) => !service[field]?.some((key) => columns.has(key)))
    .map((field) => LACKS[field]);
  const without = lacking.length === 0 ? '' : `, without ${lacking.join(', ')}`;
  return `${name}: an export of ${from}${without}`;
}

type Act = (input: LinkImport) => Promise<readonly ImportOutcome[]>;

async function pass(
  read: readonly { source: Source; from: SourceName }[],
  settings: ImportSettings,
  act: Act,
  isFirst: boolean,
): Promise<ImportCounts> {
  const { accountId, say } = settings;
  const counts: ImportCounts = { created: 0, extended: 0, exists: 0 };
  const problems = new Problems(say);
  const index = isFirst ? new AddressIndex() : undefined;
  const lost = new Map<string, number>();
  let account = '';
  for (const [file, { source, from }] of read.entries()) {
    const count = (what: string) => lost.set(what, (lost.get(what) ?? 0) + 1);
    const reading: Reading = { ...settings, from, lost: count };
    for await (const rows of inGroups(source.read())) {
      const links: { row: SourceRow; link: ImportedLink }[] = [];
      for (const row of rows) {
        const where = `${source.name}, line ${row.line}`;
        if (from === OWN) account = sameAccount(row, account, where);
        try {
          const link = toLink(row, reading);
          const other = index && sharedBefore(index, link, file, row.line);
          if (other === undefined) links.push({ row, link });
          else {
            const at = `${read[other.file]?.source.name}, line ${other.line}`;
            problems.add(
              other.address === undefined
                ? `${where}: its id ${link.id} is that of another link in ${at}`
                : `${where}: ${shown(other.address, reading)} leads elsewhere in ${at}`,
            );
          }
        } catch (error) {
          if (!(error instanceof Error)) throw error;
          const key = error instanceof UnknownHost ? error.host : undefined;
          problems.add(`${where}: ${error.message}`, key);
        }
      }
      const outcomes = await act({ accountId, links: links.map(({ link }) => link) });
      for (const [at, outcome] of outcomes.entries()) {
        if (outcome.state !== 'conflict') counts[outcome.state] += 1;
        else {
          const { address, target_url } = outcome;
          const where = `${source.name}, line ${links[at]?.row.line}`;
          problems.add(`${where}: ${shown(address, reading)} leads to ${target_url} already`);
        }
      }
    }
  }
  if (isFirst) for (const [what, links] of lost) say(`not kept: ${what} (${links} links)`);
  problems.end(isFirst);
  return counts;
}

/**
 * The account that an export of all accounts names. Its links may go to another account; those of several would be mixed.
 *
 * @param before - That of the rows before, `''` for none
 */
function sameAccount({ values }: SourceRow, before: string, where: string): string {
  const account = String(values.get('accountid') ?? '');
  if (account === '' || before === '' || account === before) return account || before;
  throw new CommandFailed(
    `${where}: this link is of account ${account}, and those before it of ${before}. Import the lines of each account with its own --account, or export with --account; nothing was written`,
  );
}

async function* inGroups(read: AsyncGenerator<SourceRow[]>): AsyncGenerator<SourceRow[]> {
  let group: SourceRow[] = [];
  for await (const rows of read) {
    for (const row of rows) {
      group.push(row);
      if (group.length < LINKS_TOGETHER) continue;
      yield group;
      group = [];
    }
  }
  yield group;
}

/** Bits of a line in the place of a row; the file is above them. */
const FILE = 2 ** 26;

/** What an earlier row has, too, and for another link: an address, or without one the id that only rows of own exports bring. */
function sharedBefore(index: AddressIndex, link: ImportedLink, file: number, line: number) {
  const { id, code, aliases, target_url } = link;
  const row = Math.min(file, 63) * FILE + line;
  const found = (place: number, address?: Alias) => ({
    ...{ address, file: Math.floor(place / FILE), line: place % FILE },
  });
  const place = code === undefined ? undefined : index.add(id, code, row);
  if (place !== undefined) return found(place);
  const own = code === undefined ? [] : [{ domain_id: link.domain_id ?? '', path: `/${code}` }];
  for (const address of [...own, ...aliases]) {
    const place = index.add(address.domain_id + address.path, target_url, row);
    if (place !== undefined) return found(place, address);
  }
  return undefined;
}

/** An address with its host. */
function shown({ domain_id, path }: Alias, { domains }: Pick<Reading, 'domains'>): string {
  const [host = ''] = [...domains].find(([, id]) => id === domain_id) ?? [];
  return host + path;
}

/** What is wrong with the files: all of it is said, up to a bound, before the import is refused. */
class Problems {
  readonly #say: (line: string) => void;
  readonly #keys = new Map<string, number>();
  #count = 0;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** @param key - That of a problem which is said once, however many rows have it. */
  add(problem: string, key?: string): void {
    this.#count += 1;
    const before = key === undefined ? 0 : (this.#keys.get(key) ?? 0);
    if (key !== undefined) this.#keys.set(key, before + 1);
    if (before === 0 && this.#count <= MAX_PROBLEMS) this.#say(problem);
  }

  /** @throws CommandFailed if there were any */
  end(isFirst: boolean): void {
    if (this.#count === 0) return;
    const [rows, are] =
      this.#count === 1 ? ['1 row', 'it is'] : [`${this.#count} rows`, 'they are'];
    throw new CommandFailed(
      isFirst
        ? `${rows} can't be imported as ${are}; nothing was written`
        : `${rows} left out: another process took their addresses meanwhile`,
    );
  }
}
