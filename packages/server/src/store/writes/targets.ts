import type { Engine } from '../engine.ts';
import { type Targeted, targetNumber } from '../links.ts';
import { type Reading, rowsOf, sql, type Writing } from '../queries/reading.ts';

/** Links of one step: other writes wait for some milliseconds, and no step holds many locks for long. */
const STEP_LINKS = 1_000;

/** Numbers the targets of some links that have none, see `Store.indexLinks`. */
export function* indexLinks(engine: Engine): Writing<{ done: boolean }> {
  yield* numberTargets(engine);
  return { done: yield* isIndexed() };
}

/** The same; `true` when there may be more that can be numbered now. Links that another transaction has locked are passed over. */
export function* numberTargets(engine: Engine): Writing<boolean> {
  const links = yield* rowsOf<Targeted & { code: string }>(sql`
    SELECT code, account_id, domain_id, target_url FROM links
    WHERE target_number IS NULL ORDER BY target_number LIMIT ${STEP_LINKS} ${engine.unlessLocked}`);
  const numbers = links.map((link) => ({ code: link.code, number: targetNumber(link) }));
  yield* rowsOf(sql`
    UPDATE links SET target_number = CAST(number AS bigint) + ${engine.bucket}
    FROM ${engine.table(['code', 'number'], numbers)} WHERE links.code = listed.code`);
  return links.length === STEP_LINKS;
}

/** The order lets PostgreSQL use the index of links without a number, which it would take for most of them. */
export function* isIndexed(): Reading<boolean> {
  const left = yield* rowsOf(sql`
    SELECT 1 AS unnumbered FROM links WHERE target_number IS NULL ORDER BY target_number LIMIT 1`);
  return left.length === 0;
}
