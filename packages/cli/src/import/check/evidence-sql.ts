import { KEYS_OF_MADE, MADE_VALUES, REDIRECT_BITS, REDIRECTS } from '../map/link-identity.ts';

const FIRST_LINES = 5;

export const MATCHED_LINKS = 'temp.match JOIN temp.link ON link.id = match.link';

/** Who knows of a link, best first. */
export const KNOWN_BY = { journal: 0, results: 1, known: 2, beside: 3, service: 4 } as const;
const MOST_FILES = 2 ** 20;
/** `beside` and a fraction that is another one for each file. Its first 20 bits are those of all files of one import. */
export const sourceOfFile = (ofImport: number, file: number) =>
  KNOWN_BY.beside + (ofImport + file / MOST_FILES) / MOST_FILES;

/** What is taken without a question. */
export const CERTAIN = `source < ${KNOWN_BY.beside}`;

/** Links of the journal have its own numbers as ids, and others begin here. */
export const FIRST_OTHER = 2 ** 44;

const IS_UNNAMED = 'short_url NOT IN (SELECT own FROM temp.row WHERE own IS NOT NULL)';

/** The content of the row that had the link last. See `editedContent`. */
const AS_ROW = `iif(content < 0, (-1 - content) / ${MADE_VALUES}, content)`;
const FREE = `key, ${AS_ROW} AS content, ${AS_ROW} / ${REDIRECTS} AS words, made & ~${REDIRECT_BITS} AS made_with, pair FROM temp.link`;

/**
 * What exists. `row` has the rows of the input with the links that their own cells name, `link` has what the journal, files and the service
 * say, and `match` says which row has which link. Rows and links of the journal that are still side by side are in none of them.
 *
 * A link without a short URL may exist: the journal or a file says so, or the row `of_row` of the input itself. One that several know counts
 * once, as the journal or the best source has it. As many as the journal doubts, or has doubted when the run began, are the same that files doubt,
 * as many as the rows themselves doubt are the same as in results of the input, and as many as one file of another import doubts, in its others.
 * `made` is the number of a cell `made_for`, of rows that say that their link may exist, and of links of the service or in doubt.
 */
export const TABLES = `
  CREATE TEMP TABLE row (
    number INTEGER PRIMARY KEY, line INTEGER, key INTEGER, content INTEGER, pair TEXT, own TEXT, fit INTEGER, named TEXT, doubt INTEGER, made INTEGER
  );
  CREATE TEMP TABLE link (
    id INTEGER PRIMARY KEY, source INTEGER, key INTEGER, content INTEGER, pair TEXT, code TEXT, short_url TEXT, error TEXT, of_row INTEGER, made INTEGER, was_open INTEGER
  );
  CREATE TEMP TABLE match (number INTEGER PRIMARY KEY, link INTEGER);
  CREATE TEMP TABLE settled (id INTEGER PRIMARY KEY, key INTEGER, content INTEGER, pair TEXT, code TEXT, short_url TEXT, found INTEGER);
  CREATE TEMP VIEW free_link AS
    SELECT id, source, short_url IS NULL AS is_open, ${FREE}
    WHERE source = 0 AND (short_url IS NULL OR ${IS_UNNAMED})
    UNION ALL SELECT min(id), source, 0, ${FREE}
    WHERE source > 0 AND short_url IS NOT NULL AND ${IS_UNNAMED}
      AND short_url NOT IN (SELECT short_url FROM temp.link WHERE source = 0 AND short_url IS NOT NULL)
    GROUP BY short_url;
  CREATE TEMP VIEW doubtful_link AS
    SELECT id, source, 1 AS is_open, key, pair FROM (
      SELECT *, row_number() OVER (PARTITION BY key, CAST(source AS INTEGER) ORDER BY id) AS n FROM (
        SELECT min(id) AS id, source, key, pair FROM (
          SELECT *, row_number() OVER (PARTITION BY key, source ORDER BY id) AS n FROM temp.link
          WHERE source > 0 AND short_url IS NULL AND of_row IS NULL
        ) GROUP BY key, CAST(source * ${MOST_FILES} AS INTEGER), n
      )
    ) LEFT JOIN (
      SELECT key, count(*) - count(of_row) AS known, count(of_row) AS own FROM temp.link
      WHERE source = 0 AND (short_url IS NULL OR was_open = 1) OR of_row IS NOT NULL GROUP BY key
    ) USING (key) WHERE n > coalesce(known, 0) + iif(${CERTAIN}, coalesce(own, 0), 0);
  CREATE TEMP VIEW free_row AS
    SELECT *, content / ${REDIRECTS} AS words, made & ~${REDIRECT_BITS} AS made_with FROM temp.row
    WHERE own IS NULL AND number NOT IN (SELECT number FROM temp.match);`;

/**
 * The public address of a service may change. A link with the target and the code of another one is the same link, and gets the short URL that a
 * cell of the input names, or else the best source. If the first and the last short URL in order have one address, all have, unless some have a
 * longer path, and nothing is done.
 */
export const CALL_ALIKE = [
  "substr(own, 1 + length(rtrim(own, replace(own, '/', '')))) AS code, own AS url, -1 AS source FROM temp.row WHERE own IS NOT NULL",
  'code, short_url AS url, source FROM temp.link WHERE short_url IS NOT NULL',
].map(
  (known) => `
    UPDATE temp.link SET short_url = known.url FROM (SELECT key, pair, ${known}) AS known
    WHERE (SELECT rtrim(min(url), replace(min(url), '/', '')) <> rtrim(max(url), replace(max(url), '/', '')) OR max(url LIKE '%//%/%/%') > min(url LIKE '%//%/%/%') FROM (SELECT own AS url FROM temp.row UNION ALL SELECT short_url FROM temp.link))
      AND link.key = known.key AND link.code = known.code AND link.pair = known.pair
      AND link.source > known.source AND link.short_url <> known.url`,
);

/** Where no cell says what a link was made for, the journal does. */
const FIT_BY_JOURNAL = `
  UPDATE temp.row SET fit = found.fit FROM (
    SELECT number, max(CASE WHEN link.pair <> row.pair THEN 0 ELSE 1 + (link.content = row.content) END) AS fit
    FROM temp.row JOIN temp.link ON link.short_url = row.own WHERE source = 0 AND row.fit IS NULL GROUP BY number
  ) AS found WHERE row.number = found.number`;
/**
 * Short URLs that the journal knows for the target of another row were moved. Where no row asks for that target any more, the journal is older
 * than the file. Of several links with one short URL, any will do.
 */
const MISFIT_BY_JOURNAL = `
  UPDATE temp.row SET fit = 0 WHERE number IN (
    SELECT number FROM (
      SELECT number, max(link.pair) AS wanted FROM temp.row JOIN temp.link ON link.short_url = row.own
      WHERE source = 0 AND row.fit > 0 GROUP BY number HAVING max(link.pair = row.pair) = 0
    ) WHERE wanted IN (SELECT pair FROM temp.row)
  )`;
const FIT_ALONE = 'UPDATE temp.row SET fit = 2 WHERE +own IS NOT NULL AND fit IS NULL';

/**
 * A link that rows name is that of the first one that it was made for, word for word if any is. With the plus sign, rows are read as they stand:
 * by the index, it would take twenty times as long.
 */
const DISOWN = `
  UPDATE temp.row SET own = NULL, named = own, made = iif(fit = 0, made, NULL) WHERE number IN (
    SELECT number FROM (
      SELECT number, row_number() OVER (PARTITION BY own ORDER BY fit DESC, number) AS n FROM temp.row
      WHERE own IN (SELECT own FROM temp.row WHERE own IS NOT NULL GROUP BY own HAVING count(*) > 1)
    ) WHERE n > 1 UNION ALL SELECT number FROM temp.row WHERE +own IS NOT NULL AND fit = 0
  )`;

/** An index that is there before the rows makes adding them take twice as long. */
const INDEX_OWN = 'CREATE INDEX IF NOT EXISTS temp.row_own ON row (own) WHERE own IS NOT NULL';
export const FORGET_ROWS = ['DROP INDEX IF EXISTS temp.row_own', 'DELETE FROM temp.row'];
export const OWN_LINKS = [INDEX_OWN, FIT_BY_JOURNAL, MISFIT_BY_JOURNAL, FIT_ALONE, DISOWN];

/** Whether another row has the link that the cells of a row name. A list of all links would be made anew for each page. */
const isOfOther = (rows: string) =>
  `EXISTS (SELECT 1 FROM temp.row AS other WHERE other.own = ${rows}.named)`;

export const COPIED = `temp.row WHERE named IS NOT NULL AND ${isOfOther('row')}`;

/** Whether the cells of a row name a link to another target than theirs, which no other row has. */
const hasFormer = (rows: string) => `fit = 0 AND named IS NOT NULL AND NOT ${isOfOther(rows)}`;

/**
 * Rows whose target such a link seems made for: a column was sorted without the others. With the 20 bits of a target in `made_for`, some agree
 * by chance: it has to be half of these links, more than one, and twice as many as chance gives.
 */
export const MOVED = `
  WITH lost AS MATERIALIZED (
    SELECT named, min(made / ${MADE_VALUES}) AS target FROM temp.row
    WHERE ${hasFormer('row')} AND named NOT IN (SELECT short_url FROM temp.link WHERE short_url IS NOT NULL) GROUP BY named
  ), moved AS MATERIALIZED (
    SELECT min(number), line, lost.named FROM free_row JOIN lost ON target = key / ${KEYS_OF_MADE} GROUP BY lost.named
  ), counts AS MATERIALIZED (
    SELECT (SELECT count(*) FROM moved) AS links, (SELECT count(*) FROM lost) AS all_links, (SELECT count(*) FROM free_row) AS rows
  )
  SELECT line, named AS short_url, links AS lines FROM moved CROSS JOIN counts
  WHERE links > 1 AND 2 * links >= all_links AND links * ${2 ** 53 / KEYS_OF_MADE} > 2 * all_links * rows ORDER BY line LIMIT ${FIRST_LINES}`;

/**
 * Pairs the n-th row with the n-th link of those that are alike in `columns` and have no partner yet. Rows that say that their link may exist go
 * first, and links that do exist: a row is in doubt only where none is left.
 */
export const matchBy = (columns: string, where: string, links = 'free_link') => `
  INSERT INTO temp.match SELECT number, id FROM (
    SELECT number, ${columns}, row_number() OVER (PARTITION BY ${columns} ORDER BY doubt DESC, number) AS n FROM free_row
  ) JOIN (
    SELECT id, ${columns}, row_number() OVER (PARTITION BY ${columns} ORDER BY is_open, source, id) AS n
    FROM ${links} WHERE ${where} AND id NOT IN (SELECT link FROM temp.match)
  ) USING (${columns}, n)`;

/** The same for those that are the only ones of their kind, as nearly all are: numbering them would take three times as long. */
export const MATCH_SINGLE = `
  INSERT INTO temp.match SELECT number, id FROM (
    SELECT max(number) AS number, max(id) AS id FROM (
      SELECT key, content, number, NULL AS id FROM temp.row WHERE own IS NULL
      UNION ALL SELECT key, content, NULL, id FROM free_link WHERE ${CERTAIN}
    ) GROUP BY key, content HAVING count(number) = 1 AND count(id) = 1
  ) ORDER BY number`;

/** Two texts may have one number. */
export const UNMATCH_OTHERS = `
  DELETE FROM temp.match WHERE number IN (SELECT number FROM ${MATCHED_LINKS} JOIN temp.row USING (number) WHERE link.pair <> row.pair)`;

/**
 * The doubt of a row itself is the same as one that the journal has, or had when the file was written, for this row or for another one: as many
 * as were made with the same. Links of source -1 were refused after the last file was written, which may still call them unknown.
 */
export const DROP_KNOWN_DOUBTS = `
  DELETE FROM temp.link WHERE of_row IN (SELECT number FROM temp.match) OR id IN (
    SELECT id FROM (
      SELECT id, key, made, row_number() OVER (PARTITION BY key, made ORDER BY of_row IN (SELECT number FROM temp.match) DESC, id) AS n
      FROM temp.link WHERE of_row IS NOT NULL
    ) JOIN (SELECT key, made, count(*) AS known FROM temp.link WHERE source <= 0 AND made IS NOT NULL AND (short_url IS NULL OR ${IS_UNNAMED}) GROUP BY key, made) USING (key, made)
    WHERE n <= known
  )`;

const IS_GONE = `source = 0 AND short_url IS NOT NULL AND id NOT IN (SELECT link FROM temp.match)
  AND ${IS_UNNAMED}`;
export const GONE = `SELECT short_url FROM temp.link WHERE ${IS_GONE} ORDER BY id LIMIT ${FIRST_LINES}`;

/** Bound: number of the first link that this run has created. */
export const COUNTS = `
  SELECT count(short_url) AS existing, count(*) - count(short_url) AS unknown,
    count(short_url) FILTER (WHERE source = 0 AND id < ${FIRST_OTHER} AND id >= ? OR was_open = 1) AS created,
    (SELECT count(*) FROM temp.row WHERE own IS NOT NULL) AS own,
    EXISTS (SELECT 1 FROM temp.row WHERE ${hasFormer('row')}) AS has_former,
    EXISTS (SELECT 1 FROM temp.row JOIN temp.link USING (key) WHERE source = ${KNOWN_BY.known}) AS uses_known,
    (SELECT count(*) FROM temp.link WHERE ${IS_GONE}) AS gone
  FROM ${MATCHED_LINKS}`;

export const CHANGED_ROWS = `(
    SELECT number, line FROM ${MATCHED_LINKS} JOIN temp.row USING (number)
    WHERE short_url IS NOT NULL AND link.content <> row.content AND (link.content >= 0 OR made_rest(link.content) <> made_rest(row.content))
    UNION ALL SELECT number, line FROM temp.row WHERE own IS NOT NULL AND fit = 1
  )`;
export const CHANGED = `
  SELECT line, count(*) OVER () AS changed FROM ${CHANGED_ROWS} ORDER BY line LIMIT ${FIRST_LINES}`;

/** The new ones of these rows, without those whose link the journal knows to be that of another row. */
export const FORMER = `
  SELECT line, named AS short_url, count(*) OVER () AS lines FROM free_row WHERE ${hasFormer('free_row')} AND named NOT IN (SELECT short_url FROM ${MATCHED_LINKS} WHERE short_url IS NOT NULL)
  ORDER BY number LIMIT ${FIRST_LINES}`;

/** Rows without a link whose target has links that could be theirs: equal rows each with another one, as far as there are. */
export const SIMILAR = `
  WITH other AS MATERIALIZED (
    SELECT key, pair, id, is_open, source FROM free_link WHERE NOT (${CERTAIN}) AND id NOT IN (SELECT link FROM temp.match)
    UNION ALL SELECT key, pair, id, is_open, source FROM doubtful_link WHERE NOT (${CERTAIN}) AND id NOT IN (SELECT link FROM temp.match)
  ), asking AS MATERIALIZED (
    SELECT key, pair, line, number, doubt FROM free_row WHERE (key, pair) IN (SELECT key, pair FROM other)
  ), shown AS MATERIALIZED (
    SELECT key, pair, id, row_number() OVER (PARTITION BY key, pair ORDER BY is_open, source, id) AS n
    FROM other WHERE key IN (SELECT key FROM asking ORDER BY line LIMIT ${FIRST_LINES})
  ), placed AS MATERIALIZED (
    SELECT key, pair, line, 1 + (row_number() OVER (PARTITION BY key, pair ORDER BY doubt DESC, number) - 1) % others AS n
    FROM asking JOIN (SELECT key, pair, count(*) AS others FROM shown GROUP BY key, pair) USING (key, pair)
  )
  SELECT line, coalesce(short_url, 'one that may exist') AS short_url, (SELECT count(*) FROM asking) AS lines
  FROM placed JOIN shown USING (key, pair, n) JOIN temp.link ON link.id = shown.id ORDER BY line LIMIT ${FIRST_LINES}`;

export const MATCHED = `
  SELECT number, key, content, code, short_url, error, made FROM ${MATCHED_LINKS} WHERE number > ? ORDER BY number LIMIT ?`;

/** Rows without a link, or with one that may be another row's: their cells, or title and tags, name another one, and operators correct links. */
export const TO_ASK = `
  SELECT number, row.pair FROM temp.row LEFT JOIN temp.match USING (number) LEFT JOIN temp.link ON link.id = match.link
  WHERE number > ? AND own IS NULL AND (short_url IS NULL OR named IS NOT NULL
    OR link.content <> row.content AND row.content IN (SELECT ${AS_ROW} FROM temp.link WHERE source = 0)) ORDER BY number LIMIT ?`;

/** Links that may exist. */
const UNSETTLED = 'source = 0 AND short_url IS NULL';
export const UNSETTLED_OTHERS = `
  SELECT id AS number, pair FROM temp.link WHERE id > ? AND ${UNSETTLED} AND id NOT IN (SELECT link FROM temp.match) ORDER BY id LIMIT ?`;

/** Links of files that may exist: those of rows, and of their own results all that nothing else knows by now. */
const DOUBTS = `source > 0 AND short_url IS NULL AND (
  id IN (SELECT link FROM temp.match) OR ${CERTAIN} AND key NOT IN (SELECT key FROM temp.link WHERE source = 0 OR of_row IS NOT NULL))`;

/** What files doubt is settled like what the journal doubts. A row itself says what its link was made with. */
export const TAKE_DOUBTS = `UPDATE temp.link SET source = 0 WHERE of_row IS NULL AND ${DOUBTS}`;

/** Links that lead to other targets by now, and that no row has, or one that has another link word for word: what the service says counts. */
export const DROP_ELSEWHERE = `
  WITH said AS MATERIALIZED (SELECT short_url, key AS now, content / ${REDIRECTS} AS words FROM temp.link WHERE source = ${KNOWN_BY.service})
  DELETE FROM temp.link WHERE id IN (
    SELECT id FROM temp.link CROSS JOIN said USING (short_url)
    WHERE source < ${KNOWN_BY.service} AND key <> now AND id NOT IN (
      SELECT link FROM temp.match JOIN temp.row USING (number) WHERE (key, content / ${REDIRECTS}) NOT IN (SELECT now, words FROM said)
    )
  ) RETURNING id`;

/** The n-th link that may exist is the n-th that was found of those that are alike in `columns` and have no partner yet. */
const settleBy = (columns: string) => `
  INSERT INTO temp.settled SELECT open.id, open.key, open.content, open.pair, link.code, link.short_url, link.id FROM (
    SELECT *, row_number() OVER (PARTITION BY ${columns} ORDER BY id) AS n FROM (
      SELECT id, key, pair, content, content / ${REDIRECTS} AS words FROM temp.link WHERE ${UNSETTLED}
    ) WHERE id NOT IN (SELECT id FROM temp.settled)
  ) AS open JOIN (
    SELECT id, ${columns}, row_number() OVER (PARTITION BY ${columns} ORDER BY id) AS n
    FROM free_link WHERE source = ${KNOWN_BY.service} AND id NOT IN (SELECT found FROM temp.settled)
  ) AS other USING (${columns}, n) JOIN temp.link ON link.id = other.id ORDER BY open.id`;
export const SETTLE = [settleBy('key, pair, content'), settleBy('key, pair, words')];
export const DROP_FOUND = `DELETE FROM temp.link WHERE source = ${KNOWN_BY.service}`;
/** Bound in these: the numbers of the links of a batch, from the first to the one after the last. */
export const ASKS_FOR = 'SELECT 1 FROM temp.match WHERE link >= ? AND link < ? LIMIT 1';
export const DROP_BATCH = 'DELETE FROM temp.link WHERE id >= ? AND id < ?';
export const SETTLED_IN_BATCH =
  'SELECT id, code, short_url FROM temp.settled WHERE id >= ? AND id < ?';
export const SETTLED_OTHERS = `SELECT * FROM temp.settled WHERE id >= ${FIRST_OTHER} ORDER BY id`;
export const DROP_UNSETTLED = `DELETE FROM temp.link WHERE id >= ${FIRST_OTHER} AND ${UNSETTLED}`;

/** What is about to be replaced, and what rows have: the next run knows it without asking. */
const ADOPTED = `short_url IS NOT NULL AND source > 0 AND id IN (
    SELECT id FROM free_link WHERE source = ${KNOWN_BY.results} OR id IN (SELECT link FROM temp.match)
  ) OR ${DOUBTS}`;
export const TO_ADOPT = `SELECT id, key, content, pair, code, short_url, error FROM temp.link WHERE ${ADOPTED} ORDER BY id`;
/** Bound: the source of a journal. As many as the results that it has written doubt are the same. */
export const DROP_DOUBTS_OF_RESULTS = `
  DELETE FROM temp.link WHERE id IN (
    SELECT id FROM (SELECT id, key, row_number() OVER (PARTITION BY key ORDER BY id) AS n FROM temp.link WHERE source = ? AND short_url IS NULL)
    JOIN (SELECT key, count(*) AS known FROM temp.link WHERE source = ${KNOWN_BY.results} AND short_url IS NULL AND of_row IS NULL GROUP BY key) USING (key)
    WHERE n <= known
  )`;
export const DROP_ALL_DOUBTS = 'DELETE FROM temp.link WHERE source > 0 AND short_url IS NULL';

/** The same of links that rows name themselves, where the results are another file. */
export const OWN_TO_ADOPT = `
  SELECT key, iif(fit = 1, -1 - (content * ${MADE_VALUES} + made % ${MADE_VALUES}), content) AS content, pair, NULL AS code, own AS short_url, NULL AS error FROM temp.row
  WHERE own IS NOT NULL AND own NOT IN (SELECT short_url FROM temp.link WHERE source = 0 AND short_url IS NOT NULL) ORDER BY number`;

/** Bound: whether links that rows name count. */
export const ANY_OTHER = `
  SELECT 1 FROM temp.link WHERE source > 0 UNION ALL SELECT 1 FROM temp.row WHERE ? AND own IS NOT NULL LIMIT 1`;
