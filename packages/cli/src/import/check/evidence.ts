import { type Batch, isLink, isOpenLink } from '../journal/batches.ts';
import type { Journal } from '../journal/journal.ts';
import {
  editedContent,
  fitOf,
  type LinkIdentity,
  madeNumber,
  readMadeFor,
} from '../map/link-identity.ts';
import type { Claim, ClaimOfLink, OwnLink } from '../map/result-columns.ts';
import type { MadeResult, OnSimilar } from '../types.ts';
import * as sql from './evidence-sql.ts';
import { InOrder } from './in-order.ts';
import { NamedLinks } from './named-links.ts';
import {
  type Comparison,
  compareRows,
  RowBuffer,
  readFirst,
  readLinks,
  readMatches,
  readNumbers,
  readPairs,
  type SqlValues,
  valuesOf,
} from './read-evidence.ts';
import { RowSet } from './row-set.ts';

/**
 * Finds out which rows ask for links that exist. Rows that stand as they stood have their links at once. The others, and the links that are
 * left, are sorted by the database, on disk, so that millions take no more memory than a few.
 *
 * A row that names its short URL itself has that link, unless it was made for another row. Of the others, rows with the title and tags of a
 * link have it, so that a file may be sorted; the rest get the links that are left, in their order, or are in doubt where a file says so.
 */
export class Evidence {
  /** What happens to rows whose target has links with another title or other tags that only the service knows. */
  onSimilar: OnSimilar = 'create';
  /** As long as nothing is known of any link, all rows are new, and none is kept. */
  keepsRows = false;
  /** The fingerprint of results that the journal has not written last. */
  record: string | undefined;
  readonly named = new NamedLinks();
  /** Adds all rows again. This and the number of valid rows are set once the rows were checked. */
  addRows: () => Promise<void> = async () => {};
  validRows = 0;
  readonly #db: Journal['db'];
  readonly #journal: Journal;
  readonly #mayName: boolean;
  readonly #rows: RowBuffer;
  readonly #links: RowBuffer;
  /** Links of the journal that may exist when the run begins. */
  readonly #open = new RowSet();
  /** Whether files say of any link that it may exist, and whether rows say something of theirs, or name them. */
  #hasDoubts = false;
  #hasClaims = false;
  #hasOwn = false;
  #order: InOrder | undefined;
  /** The id of the next link that a file or the service names. */
  nextOther = sql.FIRST_OTHER;
  /** Links of the journal that the service says lead to other targets by now, and whether it was asked since they were looked for. */
  readonly #elsewhere = new Set<number>();
  #wasAsked = false;
  /** Batches as they were loaded: how often something was decided about them, and their jobs. */
  readonly #loaded = new Map<number, string>();

  /** @param mayName - whether rows may name their links themselves */
  constructor(journal: Journal, mayName = false) {
    this.#journal = journal;
    this.#mayName = mayName;
    this.#db = journal.db;
    this.#db.exec(sql.TABLES);
    this.#db.function('made_rest', (content) => madeNumber({ key: 0, content: Number(content) }));
    this.#rows = new RowBuffer(this.#db, 'temp.row');
    this.#links = new RowBuffer(this.#db, 'temp.link');
    for (const batch of journal.batches()) {
      const links = batch.unanswered > 0 ? journal.eachLink(batch) : [];
      for (const link of links) if (isOpenLink(link)) this.#open.add(link.number);
    }
    if (journal.hasLinks()) this.begin('in order');
    else if (mayName) this.begin('sorted');
  }

  /**
   * Forgets the rows, so that they are added again: side by side with the links of the journal, which is much faster, or to be sorted with all
   * links, once anything else than the journal knows of some.
   */
  begin(how: 'in order' | 'sorted'): void {
    this.#flush();
    this.keepsRows = true;
    this.#order = how === 'in order' ? new InOrder(this.#journal, this.#mayName) : undefined;
    this.#loaded.clear();
    for (const step of sql.FORGET_ROWS) this.#db.exec(step);
    this.#db.exec('DELETE FROM temp.link WHERE source <= 0 OR of_row IS NOT NULL');
  }

  /** Adds all rows again, where they were not kept as it is needed by now. */
  async #keepRows(isNeeded = this.#journal.hasLinks()): Promise<void> {
    const isSorted = this.#hasClaims || this.knowsMore();
    if (this.keepsRows ? !isSorted || this.#order === undefined : !isSorted && !isNeeded) return;
    this.begin(!isSorted && this.#journal.hasLinks() ? 'in order' : 'sorted');
    try {
      await this.addRows();
    } catch (error) {
      // The next comparison reads them again.
      this.keepsRows = false;
      throw error;
    }
  }

  /** What the cells of a row say of another target, which was written over, does not count. */
  addRow(number: number, { line, own, doubt, made_for = '' }: Claim, identity: LinkIdentity): void {
    if (doubt === undefined && this.#order?.take(number, identity, own)) return;
    this.#hasClaims ||= own !== undefined || doubt !== undefined;
    // Rows that say more than the journal are read again, to be sorted.
    if (!this.keepsRows || (this.#order !== undefined && this.#hasClaims)) return;
    const { key, content, pair } = identity;
    const cell = own?.made_for ?? made_for;
    const fit = fitOf(identity, cell);
    const made = readMadeFor(cell);
    const url = own?.short_url ?? null;
    const isInDoubt = doubt !== undefined && fit !== 0;
    this.#hasOwn ||= own !== undefined;
    const ownFit = own === undefined ? null : (fit ?? null);
    const said = [url, ownFit, null, isInDoubt ? 1 : 0, made];
    this.#rows.add([number, line, key, content, pair, ...said]);
    if (isInDoubt) {
      const as = fit === 1 ? editedContent(content, made ?? 0) : content;
      this.#addOther([sql.KNOWN_BY.results, key, as, pair, null, null, doubt], made, number);
    }
  }

  /** Adds a link that a file names or doubts. One that was made for something else than its row is none of the row. */
  addLink(source: number, identity: LinkIdentity, claim: ClaimOfLink): void {
    const { own, doubt } = claim;
    const { key, content, pair } = identity;
    const { code, short_url, made_for = '' }: Partial<OwnLink> = own ?? claim;
    const fit = fitOf(identity, made_for);
    if (fit === 0 || (own ?? doubt) === undefined) return;
    const as = own && fit === 1 ? editedContent(content, readMadeFor(made_for) ?? 0) : content;
    const made = source === sql.KNOWN_BY.service ? madeNumber(identity) : null;
    this.#addOther([source, key, as, pair, code ?? null, short_url ?? null, doubt ?? null], made);
  }

  #addOther(link: SqlValues, made: number | null, ofRow: number | null = null): void {
    this.#hasDoubts ||= link[5] === null;
    this.#links.add([this.nextOther, ...link, ofRow, made, 0]);
    this.nextOther += 1;
  }

  /** Forgets the doubts of files, so that their rows are new. Returns whether there are any. */
  releaseDoubts(): boolean {
    this.#flush();
    return this.#db.prepare(sql.DROP_ALL_DOUBTS).run().changes > 0;
  }

  /** Forgets what a journal and the results that it has written both doubt. */
  countOnce(journal: number): void {
    this.#flush();
    this.#db.prepare(sql.DROP_DOUBTS_OF_RESULTS).run(journal);
  }

  /** Forgets links that only the service has named. */
  forgetFound(): void {
    this.#flush();
    this.#db.exec(sql.DROP_FOUND);
  }

  /** Whether, by the last comparison, a row asks for a link of this batch. */
  asksFor({ firstLink, size }: Batch): boolean {
    return this.#db.prepare(sql.ASKS_FOR).get(firstLink, firstLink + size) !== undefined;
  }

  /** What to ask the service for: rows that have no link by the last comparison, and links that may exist; so many at once. */
  async *toAsk(size: number): AsyncGenerator<string[]> {
    await this.#keepRows(true);
    this.#flush();
    yield* readPairs(this.#db, size);
  }

  /** Once the service was asked: links that may exist are those that were found, or don't exist. */
  async settle(): Promise<void> {
    await this.#keepRows();
    this.#write(() => {
      this.#load();
      this.#db.exec(sql.TAKE_DOUBTS);
      this.releaseDoubts();
      this.#db.exec('DELETE FROM temp.settled');
      for (const step of sql.SETTLE) this.#db.exec(step);
      const inBatch = this.#db.prepare(sql.SETTLED_IN_BATCH);
      this.#journal.settle(({ firstLink, size }) => {
        const found = inBatch.all(firstLink, firstLink + size);
        return new Map(
          found.map((row) => [Number(row['id']), [String(row['code']), String(row['short_url'])]]),
        );
      });
      this.#journal.add(readLinks(this.#db, sql.SETTLED_OTHERS));
      this.#db.exec(sql.DROP_UNSETTLED);
      this.#wasAsked = true;
    });
  }

  /** Records links of files and of the service that rows have, or whose file will be replaced. */
  async adopt(inPlace: boolean): Promise<Comparison> {
    this.#write(() => {
      if (!inPlace) this.#journal.add(readLinks(this.#db, sql.OWN_TO_ADOPT));
      this.#journal.drop(this.#elsewhere);
      this.#journal.add(readLinks(this.#db, sql.TO_ADOPT));
      this.#db.exec(sql.DROP_ALL_DOUBTS);
    });
    this.#journal.beginCreating();
    return await this.compare();
  }

  /** Whether files, the service or the rows themselves know of links. What rows say is recorded in place already. */
  knowsMore(inPlace = false): boolean {
    this.#flush();
    return this.#db.prepare(sql.ANY_OTHER).get(inPlace ? 0 : 1) !== undefined;
  }

  /** Rows that could have a link of another file or of the service. */
  similar = () => readFirst(this.#db, sql.SIMILAR);

  /** Rows whose target is the one that a link of another row seems made for. */
  moved = () => readFirst(this.#db, sql.MOVED, this.#hasOwn);

  async compare(): Promise<Comparison> {
    await this.#keepRows();
    return this.#write(() => {
      this.#load();
      const isReused = this.onSimilar === 'reuse';
      const elsewhere = this.#wasAsked ? this.#elsewhere : undefined;
      const how = { hasOwn: this.#hasOwn, hasDoubts: this.#hasDoubts, isReused, elsewhere };
      const found = compareRows(this.#db, how, this.#journal.firstNewLink);
      this.#wasAsked = false;
      const { rows, count = 0, countCreated = 0 } = this.#order ?? {};
      if (rows !== undefined) found.matched.addAll(rows);
      const existing = found.existing + count;
      const isNew = this.validRows - existing - found.unknown;
      return { ...found, new: isNew, existing, created: found.created + countCreated };
    });
  }

  /** By the last comparison: rows that were edited since, and those with a link of this run. */
  listed(): { changed: RowSet; created: RowSet } {
    const isNew = `link >= ${this.#journal.firstNewLink} AND link < ${sql.FIRST_OTHER}`;
    const created = readNumbers(this.#db, `${sql.MATCHED_LINKS} WHERE (${isNew} OR was_open = 1)`);
    if (this.#order !== undefined) created.addAll(this.#order.created);
    return { changed: readNumbers(this.#db, `${sql.CHANGED_ROWS} WHERE TRUE`), created };
  }

  /** Reads the states of the matched rows, in the order of the input. */
  matches(): (number: number) => MadeResult {
    const sorted = readMatches(this.#db);
    const inOrder = this.#order?.read();
    return (number) => (this.#order?.rows.has(number) ? inOrder : sorted)?.next().value;
  }

  /** Brings in what the journal knows by now, but for links that rows have in order. */
  #load(): void {
    for (const batch of this.#journal.batches()) {
      const { id, firstLink, size, job, decided } = batch;
      const state = `${decided.length} ${job}`;
      if (this.#loaded.get(id) === state) continue;
      if (this.#loaded.has(id)) this.#db.prepare(sql.DROP_BATCH).run(firstLink, firstLink + size);
      this.#loaded.set(id, state);
      if (this.#order?.hasAll(batch)) continue;
      const isOver = batch.doubtedBy === 'last file' && batch.unanswered === 0;
      for (const link of this.#journal.eachLink(batch)) {
        const { number } = link;
        const isKnown = this.#elsewhere.has(number) || this.#order?.links.has(number);
        if ((isLink(link) || isOver) && !isKnown)
          this.#links.add(valuesOf(link, this.#open.has(number), batch.doubtedBy !== undefined));
      }
    }
    this.#flush();
    for (const step of sql.CALL_ALIKE) this.#db.exec(step);
  }

  /** Where it is undone, rows and links of the journal are read again. */
  #write<T>(work: () => T): T {
    this.#flush();
    try {
      return this.#journal.write(work);
    } catch (error) {
      this.keepsRows = false;
      throw error;
    }
  }

  #flush(): void {
    this.#rows.flush();
    this.#links.flush();
  }
}
