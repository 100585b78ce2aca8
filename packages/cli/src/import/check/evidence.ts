import type { LinkRange } from '../journal/batches.ts';
import type { Journal } from '../journal/journal.ts';
import { fitOf, hashOf, type LinkIdentity } from '../map/link-identity.ts';
import type { Claim } from '../map/result-columns.ts';
import type { Existing, LinkResult, OnSimilar } from '../types.ts';
import type { SourceOfLinks } from './evidence-sql.ts';
import * as sql from './evidence-sql.ts';
import {
  CHUNK_ROWS,
  type PairToAsk,
  readMatches,
  readNumbers,
  readPairs,
} from './read-evidence.ts';
import { RowSet } from './row-set.ts';

/** How the rows of the input compare with the links that exist. */
export interface Comparison extends Omit<Existing, 'new'> {
  /** Rows whose link something else knows than their own cells, or may know. */
  matched: RowSet;
  /** Rows whose cells name a link that is not theirs: they were copied, or their target was edited. */
  disowned: RowSet;
  /** Rows whose target was edited, with the short URL that leads to the old one: the first of them. */
  former: { line: number; short_url: string }[];
  /** Rows whose link may exist. */
  unknown: number;
  /** Rows, of those whose link exists, that got it in this run: it is new, or was in doubt before. */
  created: number;
  /** Whether any row asks for a link of the known file. */
  usesKnown: boolean;
}

/** A row of the table `known`, without its id. */
type FileLink = readonly [
  source: SourceOfLinks,
  key: number,
  content: number,
  pair: string,
  code: string | null,
  short_url: string | null,
  error: string | null,
  of_row: number | null,
];

/**
 * Finds out which rows ask for links that exist. The database sorts rows and links by numbers that stand for target URL and domain, on disk
 * where memory does not hold them, so that millions of either take no more memory than a few.
 *
 * A row that names its short URL itself has that link, unless it was made for another row. Of the others, rows whose title and tags are those
 * of a link have it, so that a sorted file is no changed one; the rest get the links that are left, in their order. Rows that still have none
 * are in doubt where a file says so.
 */
export class Evidence {
  /** What becomes of rows whose target has links with another title or other tags that only the service knows. */
  onSimilar: OnSimilar = 'create';
  readonly #db: Journal['db'];
  readonly #journal: Journal;
  readonly #inserts = new Map<string, ReturnType<Journal['db']['prepare']>>();
  #rows: (string | number | null)[][] = [];
  #known: FileLink[] = [];
  /** Whether files say of any link that it may exist, and whether rows name theirs themselves. */
  #hasDoubts = false;
  #hasOwn = false;

  constructor(journal: Journal) {
    this.#journal = journal;
    this.#db = journal.db;
    this.#db.exec(sql.tables(journal.service));
    this.#db.exec('INSERT INTO temp.open_link SELECT id FROM our_link WHERE short_url IS NULL');
  }

  /** Adds a row of the input by its number. */
  addRow(number: number, { line, own, doubt }: Claim, identity: LinkIdentity): void {
    const { key, content, pair } = identity;
    const fit = own === undefined ? undefined : fitOf(identity, own.made_for);
    const url = own?.short_url ?? null;
    this.#hasOwn ||= own !== undefined;
    const isDoubted = doubt === undefined ? 0 : 1;
    this.#rows.push([
      number,
      line,
      key,
      content,
      pair,
      url,
      url && hashOf(url),
      fit ?? null,
      isDoubted,
    ]);
    if (doubt !== undefined) {
      this.#addLink([sql.SOURCES.results, key, content, pair, null, null, doubt, number]);
    }
    if (this.#rows.length === CHUNK_ROWS) this.#flush();
  }

  /** Adds a link that a file names, or of which it says that it may exist. One that was made for something else than its row is none of the row. */
  addLink(
    source: SourceOfLinks,
    identity: LinkIdentity,
    { own, doubt }: Omit<Claim, 'line'>,
  ): void {
    if (own === undefined && doubt === undefined) return;
    const { key, content, pair } = identity;
    const { code = null, short_url = null, made_for = '' } = own ?? {};
    const fit = fitOf(identity, made_for);
    if (fit === 0) return;
    const made = fit === 1 ? -1 - content : content;
    this.#addLink([source, key, made, pair, code, short_url, doubt ?? null, null]);
  }

  /** Forgets what files say of links that may exist, so that their rows are new. Returns whether there are any. */
  releaseDoubts(): boolean {
    this.#flush();
    return this.#db.prepare('DELETE FROM temp.known WHERE short_url IS NULL').run().changes > 0;
  }

  /** Whether any row asks for a link of this batch, as they were compared last. */
  asksFor({ firstLink, size }: LinkRange): boolean {
    const found = this.#db
      .prepare('SELECT 1 FROM temp.match WHERE link >= ? AND link < ? LIMIT 1')
      .get(firstLink, firstLink + size);
    return found !== undefined;
  }

  /** What to ask the service for: the rows that have no link, as they were compared last, and links that may exist; so many at once. */
  toAsk(size: number): Generator<PairToAsk[]> {
    this.#flush();
    return readPairs(this.#db, this.#journal.service, size);
  }

  /** Once the service was asked for all of them: links that may exist are those that were found, or don't exist. */
  settle(): void {
    const { service } = this.#journal;
    this.#journal.write(() => {
      this.#db.prepare(sql.ADOPT_DOUBTS).run(service);
      this.releaseDoubts();
      this.#db.prepare(sql.SETTLE).run(service);
      this.#db.prepare(`DELETE FROM link WHERE ${sql.UNSETTLED}`).run(service);
      const ended = 'FROM batch WHERE service = ? AND job IS NULL';
      this.#db.prepare(`DELETE FROM body WHERE batch IN (SELECT id ${ended})`).run(service);
      this.#db.prepare(`DELETE ${ended}`).run(service);
    });
  }

  /** Records links of files and of the service in the journal, as far as rows have them or their file will be replaced. */
  adopt(inPlace: boolean): Comparison {
    this.#journal.write(() => {
      if (!inPlace) this.#db.prepare(sql.ADOPT_OWN).run(this.#journal.service);
      this.#db.prepare(sql.ADOPT).run(this.#journal.service);
      this.#db.exec(sql.DROP_ADOPTED_DOUBTS);
    });
    this.#journal.beginCreating();
    return this.compare();
  }

  /** Whether files, the rows themselves or the service know of links. */
  get knowsMore(): boolean {
    this.#flush();
    const sql =
      'SELECT 1 FROM temp.known WHERE of_row IS NULL UNION ALL SELECT 1 FROM temp.row WHERE own IS NOT NULL LIMIT 1';
    return this.#db.prepare(sql).get() !== undefined;
  }

  /** Rows that could have a link of another file or of the service, or not: how many, and the first of them. */
  similar(): { lines: number; first: { line: number; short_url: string }[] } {
    const found = this.#db.prepare(sql.SIMILAR).all();
    const first = found.map((row) => ({
      line: Number(row['line']),
      short_url: String(row['short_url']),
    }));
    return { lines: Number(found[0]?.['lines'] ?? 0), first };
  }

  compare(): Comparison {
    return this.#journal.write(() => {
      this.#flush();
      if (this.#hasOwn) {
        this.#db.exec(sql.FIT_BY_JOURNAL);
        this.#db.exec(sql.FIT_ALONE);
        this.#db.exec(sql.DISOWN);
      }
      this.#db.exec('DELETE FROM temp.match');
      this.#db.exec(sql.MATCH_SINGLE);
      this.#db.exec(sql.UNMATCH_OTHERS);
      if (this.#db.prepare(sql.ANY_LINK_LEFT).get() !== undefined) {
        this.#db.exec(sql.matchBy('key, pair, content', sql.CERTAIN));
        this.#db.exec(sql.matchBy('key, pair', sql.CERTAIN));
        this.#db.exec(sql.matchBy('key, pair, words', `source = ${sql.SOURCES.service}`));
        if (this.onSimilar === 'reuse') {
          this.#db.exec(sql.matchBy('key, pair, words', `NOT (${sql.CERTAIN})`));
          this.#db.exec(sql.matchBy('key, pair', `NOT (${sql.CERTAIN})`));
        }
        this.#db.exec(sql.TAKE_CONTENT);
      }
      if (this.#hasDoubts) {
        this.#db.exec(sql.DROP_KNOWN_DOUBTS);
        this.#db.exec(sql.MATCH_OWN_DOUBTS);
        const which = this.onSimilar === 'reuse' ? 'TRUE' : sql.CERTAIN;
        this.#db.exec(sql.matchBy('key, pair', which, 'doubtful_link'));
      }
      const counts = this.#db.prepare(sql.COUNTS).get(this.#journal.firstNewLink) ?? {};
      const changed = this.#db.prepare(sql.CHANGED).all();
      return {
        matched: readNumbers(this.#db, 'temp.match WHERE link IS NOT NULL'),
        disowned: this.#hasOwn
          ? readNumbers(this.#db, 'temp.row WHERE named IS NOT NULL')
          : new RowSet(),
        former: (this.#hasOwn ? this.#db.prepare(sql.FORMER).all() : []).map((row) => ({
          line: Number(row['line']),
          short_url: String(row['named']),
        })),
        existing: Number(counts['existing']) + Number(counts['own']),
        unknown: Number(counts['unknown']),
        changed: Number(changed[0]?.['changed'] ?? 0),
        changedLines: changed.map(({ line }) => Number(line)),
        gone: Number(counts['gone']),
        created: Number(counts['created']),
        usesKnown: counts['uses_known'] === 1,
      };
    });
  }

  /** By the last comparison, the rows that were edited since their link was created, and those with a link of this run. */
  listed(): { changed: RowSet; created: RowSet } {
    const { firstNewLink } = this.#journal;
    return {
      changed: readNumbers(this.#db, `${sql.CHANGED_ROWS} WHERE TRUE`),
      created: readNumbers(
        this.#db,
        `temp.match WHERE (link >= ${firstNewLink} OR link IN temp.open_link)`,
      ),
    };
  }

  /** The states of the matched rows, in the order of the input, each with the cell `made_for`. */
  matches(): Generator<LinkResult & { made_for: string }> {
    return readMatches(this.#db);
  }

  #addLink(link: FileLink): void {
    this.#known.push(link);
    this.#hasDoubts ||= link[5] === null;
    if (this.#known.length === CHUNK_ROWS) this.#flush();
  }

  #flush(): void {
    this.#insert(
      'temp.row (number, line, key, content, pair, own, own_key, fit, doubt)',
      this.#rows,
    );
    this.#insert(
      'temp.known (source, key, content, pair, code, short_url, error, of_row)',
      this.#known,
    );
    this.#rows = [];
    this.#known = [];
  }

  /** Values that are bound take a quarter of the time of JSON that the database reads. */
  #insert(table: string, rows: readonly (readonly (string | number | null)[])[]): void {
    if (rows.length === 0) return;
    const places = `(${table
      .split(',')
      .map(() => '?')
      .join()})`;
    const sql = `INSERT INTO ${table} VALUES ${Array(rows.length).fill(places).join()}`;
    const statement = this.#inserts.get(sql) ?? this.#db.prepare(sql);
    this.#inserts.set(sql, statement);
    statement.run(...rows.flat());
  }
}
