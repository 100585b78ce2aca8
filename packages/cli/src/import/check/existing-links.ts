import type { DatabaseSync } from 'node:sqlite';
import type { Journal, OpenBatch } from '../journal/journal.ts';
import { addHash, type LinkIdentity } from '../journal/link-text.ts';
import { type LinkResult, NO_RESPONSE } from '../journal/packed-results.ts';
import type { RowLink } from '../map/result-columns.ts';
import type { Existing } from '../types.ts';
import { RowSet } from './row-set.ts';

/** Rows that go into or come out of the database at once: one call for each of millions of rows would be slow. */
const CHUNK_ROWS = 500;

/** Changed rows whose lines are shown. */
const FIRST_CHANGED = 5;

/** How the rows of the input compare with the links that exist, without those that name their link themselves. */
export interface Comparison extends Omit<Existing, 'new'> {
  /** Rows whose link exists, or may exist. */
  matched: RowSet;
  /** Rows whose link may exist. */
  unknown: number;
  /** Rows, of those whose link exists, that got it in this run: it is new, or was in doubt before. */
  created: number;
  /** Whether any row asks for a link of the known file. */
  usesKnown: boolean;
  /** Whether the known file has a link that no row asks for, and the journal does not know. */
  leavesKnown: boolean;
}

/**
 * `match` says which row has which link: one of the table `link`, or by a negative number one of `known`. Links that a row names itself
 * are not free for others with the same target URL, and one that both the journal and the known file name is there once.
 *
 * A link of `known` without a short URL may exist: the known file says so, or the row `of_row` of the input itself.
 */
const tables = (service: number) => `
  CREATE TEMP TABLE row (number INTEGER PRIMARY KEY, line INTEGER, pair TEXT, content TEXT, own TEXT);
  CREATE TEMP TABLE known (
    id INTEGER PRIMARY KEY, pair TEXT, content TEXT, code TEXT, short_url TEXT, error TEXT, of_row INTEGER
  );
  CREATE TEMP TABLE match (number INTEGER PRIMARY KEY, link INTEGER);
  CREATE TEMP VIEW own_link AS SELECT pair, own FROM temp.row WHERE own IS NOT NULL;
  CREATE TEMP VIEW our_link AS SELECT * FROM link WHERE service = ${service};
  CREATE TEMP TABLE open_link (id INTEGER PRIMARY KEY);
  CREATE TEMP VIEW free_link AS
    SELECT id, pair, content FROM our_link WHERE short_url IS NULL OR (pair, short_url) NOT IN own_link
    UNION ALL SELECT -min(id), pair, content FROM temp.known
    WHERE short_url IS NOT NULL AND (pair, short_url) NOT IN own_link
      AND (pair, short_url) NOT IN (SELECT pair, short_url FROM our_link WHERE short_url IS NOT NULL)
    GROUP BY pair, short_url;
  CREATE TEMP VIEW doubtful_link AS
    SELECT -id AS id, pair FROM temp.known WHERE short_url IS NULL AND of_row IS NULL`;

/** Pairs the n-th row with the n-th link of those that are alike in `columns`, where neither has a partner yet. */
const matchBy = (columns: string, links = 'free_link') => `
  INSERT INTO temp.match SELECT number, id FROM (
    SELECT number, ${columns}, row_number() OVER (PARTITION BY ${columns} ORDER BY number) AS n
    FROM temp.row WHERE own IS NULL AND number NOT IN (SELECT number FROM temp.match)
  ) JOIN (
    SELECT id, ${columns}, row_number() OVER (PARTITION BY ${columns} ORDER BY id < 0, abs(id)) AS n
    FROM ${links} WHERE id NOT IN (SELECT link FROM temp.match)
  ) USING (${columns}, n)`;

/** The same for those that are the only ones of their kind, as nearly all are: numbering them would cost three times as much. */
const MATCH_SINGLE = `
  INSERT INTO temp.match SELECT max(number), max(id) FROM (
    SELECT pair, content, number, NULL AS id FROM temp.row WHERE own IS NULL
    UNION ALL SELECT pair, content, NULL, id FROM free_link
  ) GROUP BY pair, content HAVING count(number) = 1 AND count(id) = 1`;

/** What a row itself says counts where the journal knew nothing of the row, now or when the rows were compared before. */
const DROP_KNOWN_DOUBTS = 'DELETE FROM temp.known WHERE of_row IN (SELECT number FROM temp.match)';
const MATCH_OWN_DOUBTS =
  'INSERT INTO temp.match SELECT of_row, -id FROM temp.known WHERE of_row IS NOT NULL';

const ANY_LINK_LEFT =
  'SELECT 1 FROM free_link WHERE id NOT IN (SELECT link FROM temp.match) LIMIT 1';

const ANY_OTHER = `
  SELECT 1 FROM temp.other WHERE short_url NOT IN (SELECT own FROM own_link)
    AND short_url NOT IN (SELECT short_url FROM temp.known WHERE short_url IS NOT NULL) LIMIT 1`;

const COUNTS = `
  SELECT count(coalesce(our_link.short_url, known.short_url)) AS existing,
    count(*) - count(coalesce(our_link.short_url, known.short_url)) AS unknown,
    count(our_link.short_url) FILTER (WHERE link >= ? OR link IN temp.open_link) AS created,
    EXISTS (SELECT 1 FROM temp.row JOIN temp.known USING (pair)) AS uses_known,
    EXISTS (SELECT 1 FROM free_link WHERE id < 0 AND id NOT IN (SELECT link FROM temp.match)) AS leaves_known,
    (
      SELECT count(*) FROM our_link WHERE short_url IS NOT NULL AND short_url NOT IN (SELECT own FROM own_link)
        AND id NOT IN (SELECT link FROM temp.match)
    ) AS gone
  FROM temp.match LEFT JOIN our_link ON our_link.id = match.link LEFT JOIN temp.known ON known.id = -match.link`;

const CHANGED = `
  SELECT line, count(*) OVER () AS changed FROM (
    SELECT line FROM temp.match JOIN temp.row USING (number) JOIN our_link ON our_link.id = match.link
    WHERE our_link.content <> row.content AND our_link.short_url IS NOT NULL
    UNION ALL SELECT line FROM temp.row JOIN our_link ON our_link.short_url = row.own
    WHERE our_link.pair <> row.pair OR our_link.content <> row.content
  ) ORDER BY line LIMIT ${FIRST_CHANGED}`;

/** A row of the table `known`, without its id. */
type FileLink = readonly [
  pair: string,
  content: string,
  code: string | null,
  short_url: string | null,
  error: string | null,
  of_row: number | null,
];

/**
 * Finds out which rows ask for links that exist. The database sorts rows and links by target URL and domain, on disk where memory does
 * not hold them, so that millions of either take no more memory than a few.
 *
 * A row that names its short URL itself has that link. Of the others, rows whose title and tags are those of a link have it, so that a
 * sorted file is no changed one; the rest get the links that are left, in their order. Rows that still have none are in doubt where their
 * file, or the known one, says so.
 */
export class ExistingLinks {
  readonly #db: DatabaseSync;
  readonly #journal: Journal;
  #rows: Array<readonly [number, number, string, string, string | null]> = [];
  #known: FileLink[] = [];
  /** Whether files say of any link that it may exist. */
  #hasDoubts = false;
  /** A hash of the short URLs that an earlier results file names. */
  knownHash = 0;

  constructor(journal: Journal) {
    this.#journal = journal;
    this.#db = journal.db;
    this.#db.exec(tables(journal.service));
    this.#db.exec('INSERT INTO temp.open_link SELECT id FROM our_link WHERE short_url IS NULL');
  }

  /** Adds a row of the input by its number. */
  addRow(number: number, row: RowLink, { pair, content }: LinkIdentity): void {
    const { line, own, doubt } = row;
    this.#rows.push([number, line, pair, content, own?.short_url ?? null]);
    if (doubt !== undefined) this.#addLink([pair, content, null, null, doubt, number]);
    if (this.#rows.length === CHUNK_ROWS) this.#flush();
  }

  /** Removes a row of the input that turned out to be no link of its own. */
  removeRow(number: number): void {
    this.#flush();
    this.#db.prepare('DELETE FROM temp.row WHERE number = ?').run(number);
  }

  /** Forgets what files say of links that may exist, so that their rows are new. Returns whether there are any. */
  releaseDoubts(): boolean {
    this.#flush();
    return this.#db.prepare('DELETE FROM temp.known WHERE short_url IS NULL').run().changes > 0;
  }

  /** Adds a link that an earlier results file names, or of which it says that it may exist. */
  addKnown({ pair, content }: LinkIdentity, { own, doubt }: RowLink): void {
    if (own === undefined && doubt === undefined) return;
    const { code = null, short_url = null } = own ?? {};
    this.#addLink([pair, content, code, short_url, doubt ?? null, null]);
    if (own !== undefined) this.knownHash = addHash(this.knownHash, own.short_url);
  }

  /** Whether some of these short URLs are neither in a row nor in the known file. */
  async lacks(links: AsyncIterable<readonly string[]>): Promise<boolean> {
    this.#flush();
    this.#db.exec('CREATE TEMP TABLE other (short_url TEXT)');
    try {
      for await (const some of links) {
        this.#insert(
          'temp.other (short_url)',
          some.map((link) => [link]),
        );
      }
      return this.#db.prepare(ANY_OTHER).get() !== undefined;
    } finally {
      this.#db.exec('DROP TABLE temp.other');
    }
  }

  /** Whether any row asks for a link of this batch, as they were compared last. */
  asksFor({ firstLink, size }: OpenBatch): boolean {
    const found = this.#db
      .prepare('SELECT 1 FROM temp.match WHERE link >= ? AND link < ? LIMIT 1')
      .get(firstLink, firstLink + size);
    return found !== undefined;
  }

  compare(): Comparison {
    return this.#journal.write(() => {
      this.#flush();
      this.#db.exec('DELETE FROM temp.match');
      this.#db.exec(MATCH_SINGLE);
      if (this.#db.prepare(ANY_LINK_LEFT).get() !== undefined) {
        this.#db.exec(matchBy('pair, content'));
        this.#db.exec(matchBy('pair'));
      }
      if (this.#hasDoubts) {
        this.#db.exec(DROP_KNOWN_DOUBTS);
        this.#db.exec(MATCH_OWN_DOUBTS);
        this.#db.exec(matchBy('pair', 'doubtful_link'));
      }
      const counts = this.#db.prepare(COUNTS).get(this.#journal.firstNewLink) ?? {};
      const changed = this.#db.prepare(CHANGED).all();
      const matched = new RowSet();
      for (const [number] of this.#matches('number')) matched.add(Number(number));
      return {
        matched,
        existing: Number(counts['existing']),
        unknown: Number(counts['unknown']),
        changed: Number(changed[0]?.['changed'] ?? 0),
        changedLines: changed.map(({ line }) => Number(line)),
        gone: Number(counts['gone']),
        created: Number(counts['created']),
        usesKnown: counts['uses_known'] === 1,
        leavesKnown: counts['leaves_known'] === 1,
      };
    });
  }

  /** The states of the matched rows, in the order of the input. */
  *matches(): Generator<LinkResult> {
    const states = this.#matches(
      `number, coalesce(link.code, known.code), coalesce(link.short_url, known.short_url),
        coalesce(link.error, batch.error, 'accepted as job ' || batch.job || ', whose end was not seen', known.error)`,
      `LEFT JOIN link ON link.id = match.link LEFT JOIN batch ON batch.id = link.batch
        LEFT JOIN temp.known ON known.id = -match.link`,
    );
    for (const [, code, short_url, error] of states) {
      yield typeof short_url === 'string'
        ? { status: 'created', code: String(code ?? ''), short_url }
        : { status: 'unknown', error: String(error ?? NO_RESPONSE) };
    }
  }

  /** Columns of the matched rows, the first of them its number, in the order of the input. */
  *#matches(columns: string, joins = ''): Generator<unknown[]> {
    const next = this.#db.prepare(`
      SELECT json_group_array(json_array(${columns})) AS rows FROM (
        SELECT * FROM temp.match WHERE number > ? ORDER BY number LIMIT ${CHUNK_ROWS}
      ) AS match ${joins}`);
    for (let last: unknown = -1, rows: unknown[][] = []; ; ) {
      rows = JSON.parse(String(next.get(Number(last))?.['rows']));
      yield* rows;
      if (rows.length < CHUNK_ROWS) return;
      last = rows.at(-1)?.[0];
    }
  }

  #addLink(link: FileLink): void {
    this.#known.push(link);
    this.#hasDoubts ||= link[3] === null;
    if (this.#known.length === CHUNK_ROWS) this.#flush();
  }

  #flush(): void {
    this.#insert('temp.row (number, line, pair, content, own)', this.#rows);
    this.#insert('temp.known (pair, content, code, short_url, error, of_row)', this.#known);
    this.#rows = [];
    this.#known = [];
  }

  #insert(table: string, rows: readonly (readonly unknown[])[]): void {
    const columns = table.split(',').map((_, index) => `value ->> ${index}`);
    this.#db
      .prepare(`INSERT INTO ${table} SELECT ${columns.join()} FROM json_each(?)`)
      .run(JSON.stringify(rows));
  }
}
