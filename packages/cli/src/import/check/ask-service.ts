import type { LookupResult } from '@shortlink/sdk';
import { inputError } from '@shortlink/tables/basics';
import { formatDuration, plural } from '../../format.ts';
import type { SentAt } from '../journal/batches.ts';
import type { Journal } from '../journal/journal.ts';
import { linkIdentity, linkOfPair } from '../map/link-identity.ts';
import type { ImportDeps, ImportSettings } from '../types.ts';
import type { Evidence } from './evidence.ts';
import { KNOWN_BY } from './evidence-sql.ts';

/** The most that one request may look up. */
const PAGE_SIZE = 10_000;

/** Time in which a request whose sender is gone arrives and is carried out, if ever. */
export const IN_FLIGHT_MS = 60_000;

export interface Ask {
  evidence: Evidence;
  journal: Journal;
  settings: ImportSettings;
  deps: ImportDeps;
}

/**
 * Asks the service which links exist: for rows that have none by all that was known so far, and for what requests without a response and
 * jobs may have created. Afterwards nothing is in doubt: a look-up sees the links of all jobs that were accepted before it.
 */
export async function askService({ evidence, journal, deps }: Ask): Promise<void> {
  await untilWorked(journal, deps);
  for await (const page of evidence.toAsk(PAGE_SIZE)) await lookUp(page, evidence, deps);
  await evidence.settle();
}

/** A request that was sent a moment ago may be carried out after a look-up. */
async function untilWorked(journal: Journal, deps: ImportDeps): Promise<void> {
  // Each age is by the clock that says less: the wall clock may have been set forward, and the machine may have been started since, or be another one.
  const ages = journal.openBatches().map((batch) => {
    const { byClock, byUptime } = agesOf(batch.again ?? batch, deps);
    return byUptime < 0 ? byClock : Math.min(byClock, byUptime);
  });
  const waitMs = Math.min(IN_FLIGHT_MS, IN_FLIGHT_MS - Math.min(...ages));
  if (!(waitMs > 0)) return;
  const message = `A request of ${formatDuration(IN_FLIGHT_MS - waitMs)} ago may still be carried out. Its links are looked up in ${formatDuration(waitMs)}.`;
  deps.onEvent({ type: 'warning', message });
  const stop = AbortSignal.any([deps.signal, deps.stopSignal]);
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, stop.aborted ? 0 : waitMs);
  stop.addEventListener('abort', () => resolve());
  await promise;
  clearTimeout(timer);
  stop.throwIfAborted();
}

/** Milliseconds since a request was sent: by the wall clock, and by the one that runs since the machine was started. */
export function agesOf({ sentAt, uptimeMs }: SentAt, { wallClock, uptime }: ImportDeps) {
  return {
    byClock: wallClock() - Date.parse(sentAt),
    byUptime: uptime() - (uptimeMs ?? Number.POSITIVE_INFINITY),
  };
}

async function lookUp(pairs: readonly string[], evidence: Evidence, deps: ImportDeps) {
  let asked = [...new Set(pairs)].map((pair) => ({
    ...linkOfPair(pair),
    after: undefined as string | undefined,
  }));
  // For a target with many links, each response has a part.
  while (asked.length > 0) {
    const results: LookupResult[] = await deps.client.links.lookup(asked, { signal: deps.signal });
    asked = asked.flatMap((target, index) => {
      const { links = [], more = false } = results[index] ?? {};
      for (const { title, tags, redirect_type, code, short_url } of links) {
        const identity = linkIdentity({ ...target, title, tags, redirect_type }, undefined);
        const own = { code, short_url, made_for: '' };
        evidence.addLink(KNOWN_BY.service, identity, { own, doubt: undefined });
      }
      const after = links.at(-1)?.id;
      return more && after !== undefined && after !== target.after ? [{ ...target, after }] : [];
    });
  }
}

/** Compares the rows again. Where their targets have links that could be theirs, or not, the user decides; else it throws an InputError. */
export async function decideSimilar({ evidence, settings, deps }: Ask, how: string, hint = '') {
  evidence.onSimilar = settings.onSimilar ?? 'stop';
  const comparison = await evidence.compare();
  if (evidence.onSimilar !== 'stop') return comparison;
  const { lines, first } = evidence.similar();
  if (lines === 0) return comparison;
  const message =
    `${plural(lines, 'row asks', 'rows ask')} for links to targets that have some already, which could be theirs or others. ` +
    `${how} (${first})`;
  const decision = await deps.decide?.(message);
  if (decision === undefined || decision === 'stop') {
    throw inputError(
      `${message}, so nothing was sent.`,
      `To use these links: --on-similar reuse. To create others: --on-similar create.${hint}`,
    );
  }
  evidence.onSimilar = decision;
  return await evidence.compare();
}
