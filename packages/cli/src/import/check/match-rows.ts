import type { Journal } from '../journal/journal.ts';
import * as sql from './evidence-sql.ts';

interface Kinds {
  /** Whether rows name their links themselves, and whether files say of any link that it may exist. */
  hasOwn: boolean;
  hasDoubts: boolean;
  /** Whether a link of the same target is taken where only its title or tags are others. */
  isReused: boolean;
}

/** Gives each row of the temporary tables the link that is its own, if there is one. */
export function matchRows(db: Journal['db'], { hasOwn, hasDoubts, isReused }: Kinds): void {
  if (hasOwn) {
    db.exec(sql.FIT_BY_JOURNAL);
    db.exec(sql.FIT_ALONE);
    db.exec(sql.DISOWN);
  }
  db.exec(sql.MATCH_SINGLE);
  db.exec(sql.UNMATCH_OTHERS);
  if (db.prepare(sql.ANY_LINK_LEFT).get() !== undefined) {
    db.exec(sql.matchBy('key, pair, content', sql.CERTAIN));
    db.exec(sql.matchBy('key, pair', sql.CERTAIN));
    const isAsked = `source = ${sql.KNOWN_BY.service}`;
    // A row whose title was edited while its link was in doubt says itself what it was asked for with.
    if (hasDoubts) db.exec(sql.matchBy('key, pair, made_with', isAsked));
    db.exec(sql.matchBy('key, pair, words', isAsked));
    if (isReused) {
      db.exec(sql.matchBy('key, pair, words', `NOT (${sql.CERTAIN})`));
      db.exec(sql.matchBy('key, pair', `NOT (${sql.CERTAIN})`));
    }
    db.exec(sql.TAKE_CONTENT);
  }
  if (hasDoubts) {
    db.exec(sql.DROP_KNOWN_DOUBTS);
    db.exec(sql.MATCH_OWN_DOUBTS);
    const which = isReused ? 'TRUE' : sql.CERTAIN;
    db.exec(sql.matchBy('key, pair', which, 'doubtful_link'));
  }
}
