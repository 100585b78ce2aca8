import { REDIRECTS } from '../map/link-identity.ts';

/** Rows whose lines are shown. */
const FIRST_LINES = 5;

/** Who knows of a link that is not in the journal, best first. */
export const SOURCES = { results: 1, known: 2, beside: 3, service: 4 } as const;
export type SourceOfLinks = (typeof SOURCES)[keyof typeof SOURCES];

/** What is taken without a question. The others only know that the target has links. */
export const CERTAIN = `source < ${SOURCES.beside}`;

/** With the link of each match, which one of the two has. */
export const WITH_LINKS =
  'LEFT JOIN our_link ON our_link.id = match.link LEFT JOIN temp.known ON known.id = -match.link';

/** What the link of a match was made with. Where the row was edited in its file, it is negative, so that no row has it. */
export const LINK_CONTENT = 'coalesce(our_link.content, known.content)';

/** The same as it is compared: the text of the row that had the link last. */
const AS_ROW = 'iif(content < 0, -1 - content, content)';

/**
 * The one table of what exists. `row` has the rows of the input with the links that their own cells name, `link` is the journal, and `known`
 * has what files and the service say. `match` says which row has which link: one of `link`, or by a negative number one of `known`.
 *
 * A link of `known` without a short URL may exist: a file says so, or the row `of_row` of the input itself. One that several know is there
 * once: as the journal has it, or else as the best source.
 */
export const tables = (service: number) => `
  CREATE TEMP TABLE row (
    number INTEGER PRIMARY KEY, line INTEGER, key INTEGER, content INTEGER, pair TEXT, own TEXT, own_key INTEGER, fit INTEGER, named TEXT, doubt INTEGER
  );
  CREATE INDEX temp.row_own ON row (own) WHERE own IS NOT NULL;
  CREATE TEMP TABLE known (
    id INTEGER PRIMARY KEY, source INTEGER, key INTEGER, content INTEGER, pair TEXT, code TEXT, short_url TEXT, error TEXT, of_row INTEGER
  );
  CREATE TEMP TABLE match (number INTEGER PRIMARY KEY, link INTEGER);
  CREATE TEMP TABLE open_link (id INTEGER PRIMARY KEY);
  CREATE TEMP VIEW our_link AS SELECT * FROM link WHERE service = ${service} AND failed IS NULL;
  CREATE TEMP VIEW free_link AS
    SELECT id, 0 AS source, key, ${AS_ROW} AS content, ${AS_ROW} / ${REDIRECTS} AS words, pair FROM our_link
    WHERE short_url IS NULL OR short_url NOT IN (SELECT own FROM temp.row WHERE own IS NOT NULL)
    UNION ALL SELECT -min(id), source, key, ${AS_ROW}, ${AS_ROW} / ${REDIRECTS}, pair FROM temp.known
    WHERE short_url IS NOT NULL AND short_url NOT IN (SELECT own FROM temp.row WHERE own IS NOT NULL)
      AND short_url NOT IN (SELECT short_url FROM our_link WHERE short_url IS NOT NULL)
    GROUP BY short_url;
  CREATE TEMP VIEW doubtful_link AS
    SELECT -id AS id, source, key, pair FROM temp.known WHERE short_url IS NULL AND of_row IS NULL
      AND key NOT IN (SELECT key FROM our_link WHERE short_url IS NULL);
  CREATE TEMP VIEW free_row AS
    SELECT *, content / ${REDIRECTS} AS words FROM temp.row
    WHERE own IS NULL AND number NOT IN (SELECT number FROM temp.match);`;

/** Where no cell says what a link was made for, the journal does; else it is taken for that of its row. */
export const FIT_BY_JOURNAL = `
  UPDATE temp.row SET fit = found.fit FROM (
    SELECT number, max(CASE WHEN our_link.pair <> row.pair THEN 0 ELSE 1 + (our_link.content = row.content) END) AS fit
    FROM temp.row JOIN our_link ON our_link.short_url = row.own WHERE row.fit IS NULL GROUP BY number
  ) AS found WHERE row.number = found.number`;
export const FIT_ALONE = 'UPDATE temp.row SET fit = 2 WHERE own IS NOT NULL AND fit IS NULL';

/** Whose is a link that rows name? The first that it was made for, word for word if any is. The others have none. */
export const DISOWN = `
  UPDATE temp.row SET own = NULL, named = own WHERE number IN (
    SELECT number FROM (
      SELECT number, fit, row_number() OVER (PARTITION BY own_key, own ORDER BY fit DESC, number) AS n
      FROM temp.row WHERE own IS NOT NULL
    ) WHERE n > 1 OR fit = 0
  )`;

/**
 * Pairs the n-th row with the n-th link of those that are alike in `columns`, where neither has a partner yet. Rows that say that their
 * link may exist go first.
 */
export const matchBy = (columns: string, where: string, links = 'free_link') => `
  INSERT INTO temp.match SELECT number, id FROM (
    SELECT number, ${columns}, row_number() OVER (PARTITION BY ${columns} ORDER BY doubt DESC, number) AS n FROM free_row
  ) JOIN (
    SELECT id, ${columns}, row_number() OVER (PARTITION BY ${columns} ORDER BY source, abs(id)) AS n
    FROM ${links} WHERE ${where} AND id NOT IN (SELECT link FROM temp.match)
  ) USING (${columns}, n)`;

/** The same for those that are the only ones of their kind, as nearly all are: numbering them would cost three times as much. */
export const MATCH_SINGLE = `
  INSERT INTO temp.match SELECT number, id FROM (
    SELECT max(number) AS number, max(id) AS id FROM (
      SELECT key, content, number, NULL AS id FROM temp.row WHERE own IS NULL
      UNION ALL SELECT key, content, NULL, id FROM free_link WHERE ${CERTAIN}
    ) GROUP BY key, content HAVING count(number) = 1 AND count(id) = 1
  ) ORDER BY number`;

/** Two texts may have one number. */
export const UNMATCH_OTHERS = `
  DELETE FROM temp.match WHERE number IN (
    SELECT number FROM temp.match JOIN temp.row USING (number) ${WITH_LINKS} WHERE coalesce(our_link.pair, known.pair) <> row.pair
  )`;

/** A link that the service was asked for counts as made for its row, whatever it redirects with. */
export const TAKE_CONTENT = `
  UPDATE temp.known SET content = row.content FROM temp.match JOIN temp.row USING (number)
  WHERE known.id = -match.link AND source = ${SOURCES.service} AND known.content / ${REDIRECTS} = row.content / ${REDIRECTS}`;

/** What a row itself says counts where the journal knew nothing of the row, now or when the rows were compared before. */
export const DROP_KNOWN_DOUBTS =
  'DELETE FROM temp.known WHERE of_row IN (SELECT number FROM temp.match)';
export const MATCH_OWN_DOUBTS =
  'INSERT INTO temp.match SELECT of_row, -id FROM temp.known WHERE of_row IS NOT NULL';

export const ANY_LINK_LEFT =
  'SELECT 1 FROM free_link WHERE id NOT IN (SELECT link FROM temp.match) LIMIT 1';

export const COUNTS = `
  SELECT count(coalesce(our_link.short_url, known.short_url)) AS existing,
    count(*) - count(coalesce(our_link.short_url, known.short_url)) AS unknown,
    count(our_link.short_url) FILTER (WHERE link >= ? OR link IN temp.open_link) AS created,
    (SELECT count(*) FROM temp.row WHERE own IS NOT NULL) AS own,
    EXISTS (SELECT 1 FROM temp.row JOIN temp.known USING (key) WHERE source = ${SOURCES.known}) AS uses_known,
    (
      SELECT count(*) FROM our_link WHERE short_url IS NOT NULL AND id NOT IN (SELECT link FROM temp.match)
        AND short_url NOT IN (SELECT own FROM temp.row WHERE own IS NOT NULL)
    ) AS gone
  FROM temp.match ${WITH_LINKS}`;

export const CHANGED_ROWS = `(
    SELECT number, line FROM temp.match JOIN temp.row USING (number) ${WITH_LINKS}
    WHERE coalesce(our_link.short_url, known.short_url) IS NOT NULL AND ${LINK_CONTENT} <> row.content
    UNION ALL SELECT number, line FROM temp.row WHERE own IS NOT NULL AND fit = 1
  )`;
export const CHANGED = `
  SELECT line, count(*) OVER () AS changed FROM ${CHANGED_ROWS} ORDER BY line LIMIT ${FIRST_LINES}`;

/** New rows whose cells name a link to an older target, which no other row has. */
export const FORMER = `
  SELECT line, named FROM free_row WHERE fit = 0 AND named NOT IN (SELECT own FROM temp.row WHERE own IS NOT NULL)
  ORDER BY number LIMIT ${FIRST_LINES}`;

/** Rows without a link whose target has links that could be theirs, or others. */
export const SIMILAR = `
  SELECT line, short_url, count(*) OVER () AS lines FROM (
    SELECT line, coalesce(min(known.short_url), 'one that may exist') AS short_url FROM free_row JOIN (
      SELECT key, pair, id FROM free_link WHERE NOT (${CERTAIN}) AND id NOT IN (SELECT link FROM temp.match)
      UNION ALL SELECT key, pair, id FROM doubtful_link WHERE NOT (${CERTAIN}) AND id NOT IN (SELECT link FROM temp.match)
    ) AS link USING (key, pair) JOIN temp.known ON known.id = -link.id GROUP BY number
  ) ORDER BY line LIMIT ${FIRST_LINES}`;

/** Rows of which it is not known that they have a link. */
export const UNLINKED = `
  SELECT number AS id, row.pair FROM temp.row LEFT JOIN temp.match USING (number) ${WITH_LINKS}
  WHERE number > ? AND own IS NULL AND coalesce(our_link.short_url, known.short_url) IS NULL ORDER BY number LIMIT ?`;

/** Links that may exist, and that nothing but a look-up can find: the jobs of the others can still be polled. */
export const UNSETTLED = `service = ? AND failed IS NULL AND short_url IS NULL
  AND coalesce(batch, 0) NOT IN (SELECT id FROM batch WHERE job IS NOT NULL)`;
export const UNSETTLED_OTHERS = `
  SELECT id, pair FROM link WHERE id > ? AND ${UNSETTLED} AND id NOT IN (SELECT link FROM temp.match) ORDER BY id LIMIT ?`;

/** The n-th link that may exist is the n-th that was found of the same target, title and tags. */
export const SETTLE = `
  UPDATE link SET code = found.code, short_url = found.short_url, batch = NULL, error = NULL FROM (
    SELECT link.id, known.code, known.short_url FROM (
      SELECT id, key, pair, content / ${REDIRECTS} AS words,
        row_number() OVER (PARTITION BY key, pair, content / ${REDIRECTS} ORDER BY id) AS n FROM link WHERE ${UNSETTLED}
    ) AS link JOIN (
      SELECT -id AS id, key, pair, words, row_number() OVER (PARTITION BY key, pair, words ORDER BY -id) AS n
      FROM free_link WHERE source = ${SOURCES.service}
    ) AS other USING (key, pair, words, n) JOIN temp.known ON known.id = other.id
  ) AS found WHERE link.id = found.id`;

/** Links of files that may exist: those that rows have, and of their own results all that nothing else knows by now. */
const DOUBTS = `short_url IS NULL AND of_row IS NULL AND (
  -id IN (SELECT link FROM temp.match) OR source < ${SOURCES.beside} AND key NOT IN (SELECT key FROM our_link))`;
const ADD_KNOWN = `
  INSERT INTO link (service, key, content, pair, code, short_url, error)
  SELECT ?, key, content, pair, code, short_url, error FROM temp.known WHERE`;
/** What files doubt is settled like what the journal doubts. */
export const ADOPT_DOUBTS = `${ADD_KNOWN} ${DOUBTS} ORDER BY id`;
/** What is about to be replaced, and what rows have, so that the next run knows it without asking. */
export const ADOPT = `${ADD_KNOWN} short_url IS NOT NULL AND -id IN (
    SELECT id FROM free_link WHERE source = ${SOURCES.results} OR id IN (SELECT link FROM temp.match)
  ) OR ${DOUBTS} ORDER BY id`;

export const DROP_ADOPTED_DOUBTS = `DELETE FROM temp.known WHERE short_url IS NULL AND of_row IS NULL`;

/** The same of links that rows name themselves, for an input whose results are another file. */
export const ADOPT_OWN = `
  INSERT INTO link (service, key, content, pair, code, short_url)
  SELECT ?, key, iif(fit = 1, -1 - content, content), pair, replace(own, rtrim(own, replace(own, '/', '')), ''), own FROM temp.row
  WHERE own IS NOT NULL AND own NOT IN (SELECT short_url FROM our_link WHERE short_url IS NOT NULL) ORDER BY number`;
