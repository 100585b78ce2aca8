import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Journal, OpenBatch } from '../journal/journal.ts';
import { type LinkIdentity, linkText } from '../journal/link-text.ts';
import { type LinkResult, NO_RESPONSE } from '../journal/packed-results.ts';
import { RowSet } from './row-set.ts';

/** Rows that go into or come out of the database at once: one call for each of millions of rows would be slow. */
const CHUNK_ROWS = 500;

/** How the rows of the input compare with the links that exist. */
export interface Comparison {
  /** Rows whose link exists, or may exist. */
  matched: RowSet;
  /** Rows whose link exists. */
  existing: number;
  /** Rows whose link may exist. */
  unknown: number;
  /**
   * Existing links whose title, tags or redirect type was edited in the input; where the row names its link itself, also those
   * whose target URL was edited.
   */
  changed: number;
  /** Numbers of the first of these rows. */
  firstChanged: number[];
  /** Existing links that no row asks for any more. */
  gone: number;
  /** Whether any row asks for a link of the known file. */
  usesKnown: boolean;
}

/** The state of the link of one row, by the journal or the known file. */
interface ExistingLink {
  /** Of the table `link`; negative for one of the known file. */
  id: number;
  /** Empty where it is not known. */
  content: string;
  /** Undefined where the link may or may not exist. */
  shortUrl: string | undefined;
  /** Whether a row names it, maybe one with another target URL now. */
  isNamed: boolean;
}

interface ComparedRow {
  number: number;
  content: string;
  /** The short URL in the row itself. */
  own: string | undefined;
}

/** Rows and links with the same target URL and domain, both in their order. */
interface Group {
  rows: ComparedRow[];
  links: ExistingLink[];
}

/**
 * Finds out which rows ask for links that exist. Rows and links are sorted by target URL and domain, on disk where memory does not
 * hold them, and walked side by side, so that millions of either take no more memory than a few.
 */
export class ExistingLinks {
  readonly #db: DatabaseSync;
  readonly #journal: Journal;
  readonly #addRows: StatementSync;
  readonly #addKnown: StatementSync;
  readonly #addMatches: StatementSync;
  /** Whether any row names its link itself. */
  #hasOwn = false;
  #rows: Array<readonly [number, string, string | null]> = [];
  #known: Array<readonly [string, string, string]> = [];

  constructor(journal: Journal) {
    this.#journal = journal;
    this.#db = journal.db;
    this.#db.exec(`
      CREATE TEMP TABLE row (number INTEGER PRIMARY KEY, pair TEXT, content TEXT, own TEXT);
      CREATE TEMP TABLE known (id INTEGER PRIMARY KEY, pair TEXT, code TEXT, short_url TEXT);
      CREATE TEMP TABLE match (number INTEGER PRIMARY KEY, link INTEGER)`);
    this.#addRows = this.#db.prepare(
      `INSERT INTO temp.row SELECT value ->> 0, substr(value ->> 1, 8), substr(value ->> 1, 1, 7), value ->> 2
       FROM json_each(?)`,
    );
    this.#addKnown = this.#db.prepare(
      'INSERT INTO temp.known (pair, code, short_url) SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)',
    );
    this.#addMatches = this.#db.prepare(
      'INSERT INTO temp.match SELECT value ->> 0, value ->> 1 FROM json_each(?)',
    );
  }

  /** Adds a row of the input; `own` is the short URL that stands in it, if any. */
  addRow(number: number, identity: LinkIdentity, own: string | undefined): void {
    this.#rows.push([number, linkText(identity), own ?? null]);
    if (own !== undefined) this.#hasOwn = true;
    if (this.#rows.length === CHUNK_ROWS) this.#flushRows();
  }

  /** Adds a link that an earlier results file names. */
  addKnown(pair: string, code: string, shortUrl: string): void {
    this.#known.push([pair, code, shortUrl]);
    if (this.#known.length === CHUNK_ROWS) this.#flushKnown();
  }

  /** Whether rows were added to compare with. */
  get hasRows(): boolean {
    return (
      this.#rows.length > 0 ||
      this.#db.prepare('SELECT 1 FROM temp.row LIMIT 1').get() !== undefined
    );
  }

  /** Whether any row asks for a link of this batch, as they were compared last. */
  asksFor({ firstLink, size }: OpenBatch): boolean {
    const found = this.#db
      .prepare('SELECT 1 FROM temp.match WHERE link >= ? AND link < ? LIMIT 1')
      .get(firstLink, firstLink + size);
    return found !== undefined;
  }

  compare(): Comparison {
    this.#flushRows();
    this.#flushKnown();
    const found: Comparison = {
      matched: new RowSet(),
      existing: 0,
      unknown: 0,
      changed: 0,
      firstChanged: [],
      gone: 0,
      usesKnown: false,
    };
    this.#journal.write(() => {
      this.#db.exec('DELETE FROM temp.match');
      let matches: Array<readonly [number, number]> = [];
      const flush = () => {
        this.#addMatches.run(JSON.stringify(matches));
        matches = [];
      };
      for (const group of this.#groups()) {
        const { pairs, gone } = matchGroup(group);
        // Links of the known file come last.
        if (group.rows.length > 0 && (group.links.at(-1)?.id ?? 0) < 0) found.usesKnown = true;
        found.gone += gone;
        for (const { row, link } of pairs) {
          count(found, row, link);
          matches.push([row.number, link.id]);
          if (matches.length === CHUNK_ROWS) flush();
        }
      }
      flush();
      this.#countEdited(found);
    });
    return found;
  }

  /** Rows that name their link themselves, and ask for another one than was sent. */
  #countEdited(found: Comparison): void {
    if (!this.#hasOwn) return;
    const edited = this.#db.prepare(`
      SELECT number FROM temp.row JOIN link ON link.short_url = row.own
      WHERE service = ? AND (link.pair <> row.pair OR link.content <> row.content) ORDER BY number`);
    for (const record of edited.iterate(this.#journal.service)) {
      countChanged(found, Number(record['number']));
    }
  }

  /** The states of the matched rows, in the order of the input. */
  *matches(): Generator<LinkResult> {
    const next = this.#db.prepare(`
      SELECT json_group_array(json_array(number, code, short_url, error)) AS rows FROM (
        SELECT number, coalesce(link.code, known.code) AS code, coalesce(link.short_url, known.short_url) AS short_url,
          coalesce(link.error, batch.error, 'accepted as job ' || batch.job || ', whose end was not seen') AS error
        FROM temp.match
          LEFT JOIN link ON link.id = match.link LEFT JOIN batch ON batch.id = link.batch
          LEFT JOIN temp.known ON known.id = -match.link
        WHERE number > ? ORDER BY number LIMIT ${CHUNK_ROWS})`);
    for (let last = -1; ; ) {
      const rows: Array<[number, string | null, string | null, string | null]> = JSON.parse(
        String(next.get(last)?.['rows']),
      );
      for (const [number, code, short_url, error] of rows) {
        last = number;
        if (short_url !== null) yield { status: 'created', code: code ?? '', short_url };
        else yield { status: 'unknown', error: error ?? NO_RESPONSE };
      }
      if (rows.length < CHUNK_ROWS) return;
    }
  }

  /** Rows and links of one pair at a time. Pairs that only rows have are left out: their links are new. */
  *#groups(): Generator<Group> {
    const sorted = this.#db.prepare(`
      SELECT * FROM (
        SELECT pair, 0 AS kind, number AS id, content, own AS short_url, 0 AS is_named FROM temp.row
        UNION ALL SELECT pair, 1, id, content, short_url,
          short_url IN (SELECT own FROM temp.row WHERE own IS NOT NULL) FROM link WHERE service = ?
        UNION ALL SELECT pair, 2, -id, '', short_url, 0 FROM temp.known
      ) ORDER BY pair, kind, abs(id)`);
    let pair: unknown;
    let group: Group = { rows: [], links: [] };
    for (const record of sorted.iterate(this.#journal.service)) {
      if (record['pair'] !== pair) {
        if (group.links.length > 0) yield group;
        pair = record['pair'];
        group = { rows: [], links: [] };
      }
      const id = Number(record['id']);
      const content = String(record['content']);
      const shortUrl = record['short_url'] === null ? undefined : String(record['short_url']);
      if (record['kind'] === 0) group.rows.push({ number: id, content, own: shortUrl });
      else group.links.push({ id, content, shortUrl, isNamed: record['is_named'] === 1 });
    }
    if (group.links.length > 0) yield group;
  }

  #flushRows(): void {
    this.#addRows.run(JSON.stringify(this.#rows));
    this.#rows = [];
  }

  #flushKnown(): void {
    this.#addKnown.run(JSON.stringify(this.#known));
    this.#known = [];
  }
}

/** Changed rows whose lines are shown. */
const FIRST_CHANGED = 5;

function count(found: Comparison, { number, content }: ComparedRow, link: ExistingLink): void {
  found.matched.add(number);
  if (link.shortUrl === undefined) found.unknown += 1;
  else found.existing += 1;
  if (link.shortUrl && link.content !== '' && link.content !== content) countChanged(found, number);
}

function countChanged(found: Comparison, number: number): void {
  found.changed += 1;
  if (found.firstChanged.length < FIRST_CHANGED) found.firstChanged.push(number);
}

/**
 * Which row of a group has which link. A row that names its short URL itself has that one. Of the others, rows whose title and tags
 * are those of a link have it, so that a sorted file is no changed one; the rest get the links that are left, in their order.
 */
function matchGroup({ rows, links }: Group): {
  pairs: Array<{ row: ComparedRow; link: ExistingLink }>;
  gone: number;
} {
  const taken = new Set(rows.map(({ own }) => own));
  const free = links.filter(({ shortUrl }) => {
    if (shortUrl === undefined) return true;
    const isFree = !taken.has(shortUrl);
    // The journal and the known file may both name a link.
    taken.add(shortUrl);
    return isFree;
  });
  const open = rows.filter(({ own }) => own === undefined);
  const byContent = new Map<string, ExistingLink[]>();
  for (const link of free.toReversed()) {
    const same = byContent.get(link.content);
    if (same === undefined) byContent.set(link.content, [link]);
    else same.push(link);
  }
  const pairs: Array<{ row: ComparedRow; link: ExistingLink }> = [];
  const used = new Set<ExistingLink>();
  const others: ComparedRow[] = [];
  for (const row of open) {
    const link = byContent.get(row.content)?.pop();
    if (link === undefined) others.push(row);
    else {
      used.add(link);
      pairs.push({ row, link });
    }
  }
  const left = free.filter((link) => !used.has(link));
  others.slice(0, left.length).forEach((row, index) => {
    const link = left[index];
    if (link !== undefined) pairs.push({ row, link });
  });
  const gone = left
    .slice(others.length)
    .filter(({ id, shortUrl, isNamed }) => id > 0 && shortUrl !== undefined && !isNamed);
  return { pairs, gone: gone.length };
}
