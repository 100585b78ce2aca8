import { type Batch, type JournalLink, urlOf } from '../journal/batches.ts';
import type { Journal } from '../journal/journal.ts';
import { type LinkIdentity, madeFor } from '../map/link-identity.ts';
import type { OwnLink } from '../map/result-columns.ts';
import type { MadeResult } from '../types.ts';
import { RowSet } from './row-set.ts';

/** So many links may stand between those of two rows. */
const LOOK_AHEAD = 10_000;

/**
 * Finds the links of rows that stand as they stood when their links were created, as in nearly every second run: rows and links are read
 * side by side. Only what is left of both has to be sorted.
 */
export class InOrder {
  /** The rows that have their links, and these, by their numbers. */
  readonly rows = new RowSet();
  readonly links = new RowSet();
  readonly created = new RowSet();
  count = 0;
  countCreated = 0;
  readonly #journal: Journal;
  readonly #mayName: boolean;
  readonly #batches;
  #ahead: JournalLink[] = [];
  #at = 0;
  /** Where the links ahead are, by their keys. Made when a row is not that of the next link. */
  #places: Map<number, number> | undefined;

  /** @param mayName - whether rows may name their links themselves */
  constructor(journal: Journal, mayName: boolean) {
    this.#journal = journal;
    this.#mayName = mayName;
    this.#batches = settled(journal).values();
    this.#readAhead();
  }

  /** Whether the row has one of the links ahead, and names no other one: those before it are left. */
  take(row: number, identity: LinkIdentity, own: OwnLink | undefined): boolean {
    const at = isSame(this.#ahead[this.#at], identity) ? this.#at : this.#placeOf(identity.key);
    const link = this.#ahead[at];
    if (link === undefined || !isSame(link, identity) || (own && !isNamed(link, own))) return false;
    this.rows.add(row);
    this.links.add(link.number);
    this.count += 1;
    if (link.number >= this.#journal.firstNewLink) {
      this.created.add(row);
      this.countCreated += 1;
    }
    this.#at = at + 1;
    if (this.#ahead.length - this.#at < LOOK_AHEAD / 2) this.#readAhead();
    return true;
  }

  /** Whether each link of a batch that has its results is that of a row. */
  hasAll({ firstLink, size, isOpen, created, unanswered }: Batch): boolean {
    if (isOpen || unanswered > 0) return false;
    const numbers = Array.from({ length: size }, (_, index) => firstLink + index);
    return numbers.filter((number) => this.links.has(number)).length === created;
  }

  *read(): Generator<MadeResult> {
    for (const batch of settled(this.#journal)) {
      let number = batch.firstLink;
      for (const outcome of this.#journal.outcomesOf(batch)) {
        if (this.links.has(number++)) yield outcome;
      }
    }
  }

  #placeOf(key: number): number {
    if (this.#places === undefined) {
      this.#places = new Map();
      for (let at = this.#ahead.length - 1; at >= this.#at; at -= 1) {
        this.#places.set(this.#ahead[at]?.key ?? 0, at);
      }
    }
    const at = this.#places.get(key) ?? -1;
    return at < this.#at ? -1 : at;
  }

  #readAhead(): void {
    const links = this.#ahead.slice(this.#at);
    while (links.length < LOOK_AHEAD) {
      const { done, value } = this.#batches.next();
      if (done) break;
      // What became of the links of a request is not read where all of them exist, and no row says it.
      const areAll = value.created === value.size && !this.#mayName;
      for (const link of this.#journal.eachLink(value, !areAll)) {
        if (areAll || link.result?.status === 'created') links.push(link);
      }
    }
    this.#ahead = links;
    this.#at = 0;
    this.#places = undefined;
  }
}

function settled(journal: Journal): Batch[] {
  return journal.batches().filter(({ isOpen, created }) => !isOpen && created > 0);
}

function isSame(link: JournalLink | undefined, { key, content, pair }: LinkIdentity): boolean {
  return link !== undefined && link.key === key && link.content === content && link.pair === pair;
}

/** Whether the cells of the row say of the link what an import has written. */
function isNamed(link: JournalLink, { short_url, made_for }: OwnLink): boolean {
  return urlOf(link.result) === short_url && made_for === madeFor(link);
}
