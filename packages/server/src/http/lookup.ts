import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { chunksOf } from '../domain/chunks.ts';
import { badRequest, overloaded } from '../domain/problem.ts';
import type { Store } from '../store/store.ts';
import type { PlacedEntry } from './check-body.ts';
import type { AppOptions, CallerEnv } from './context.ts';
import { type LargeBody, largeResponses } from './large-responses.ts';
import type { BodyEnv } from './read-body.ts';

/** Links for one entry, and in a whole response, at most. A link that is longer than usual counts as several, so that a response has some 32 MiB at most. */
const MAX_ENTRY_LINKS = 20;
const MAX_LINKS = 50_000;
const USUAL_LINK_BYTES = 640;

/** Bytes of the responses of all accounts together that are being made, or are not read yet. */
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;

/** How long a look-up waits for links that are still being created, and how often it looks, in milliseconds. */
const MAX_WAIT_MS = 10_000;
const LOOK_MS = 25;

/** `POST /api/v1/links/lookup`: the links of the account that lead to the given targets, or have the given codes. */
export function lookUpLinks({ store }: AppOptions) {
  const sendLarge = largeResponses('look-ups', 4, MAX_MEMORY_BYTES);
  return async (c: Context<BodyEnv<'lookup'>>): Promise<Response> => {
    const { caller, body } = c.var;
    if ('problem' in body) throw badRequest(body.problem);
    return sendLarge(c, (take) => readResults(store, caller.accountId, body.input, take));
  };
}

const STILL_CREATING = 'Links that were accepted before are still being created; try again in 1 s.';

/** Waits until every link of the jobs accepted before exists. No body is read yet, so waiting holds no memory for one. */
export function waitForLinks({ store }: AppOptions) {
  return createMiddleware<CallerEnv>(async (c, next) => {
    const { accountId } = c.get('caller');
    const giveUpAt = performance.now() + MAX_WAIT_MS;
    let due = await store.unfinishedJobs(accountId);
    while (due.length > 0) {
      if (performance.now() >= giveUpAt) throw overloaded(STILL_CREATING);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      const unfinished = new Set(await store.unfinishedJobs(accountId));
      due = due.filter((id) => unfinished.has(id));
    }
    await next();
  });
}

const NOT_SHOWN = '{"links":[],"more":true}';

const WRITTEN_TOGETHER = 250;

/** The body of the response. Once it is full, entries get no links, but `more` where they have some. */
async function readResults(
  store: Pick<Store, 'findLinks'>,
  accountId: string,
  chunks: readonly string[],
  take: (bytes: number) => void,
): Promise<LargeBody> {
  const results: string[] = [];
  let linksLeft = MAX_LINKS;
  for (const chunk of chunks) {
    const most = Math.min(MAX_ENTRY_LINKS, linksLeft);
    const entries: readonly PlacedEntry[] = JSON.parse(chunk);
    const found = await store.findLinks(accountId, entries, most + 1);
    for (const [n, { at }] of entries.entries()) {
      const all = found[n] ?? [];
      const links = all.slice(0, most);
      const json = JSON.stringify({ links, more: links.length < all.length });
      const bytes = Buffer.byteLength(json);
      const cost = Math.max(links.length, Math.floor(bytes / USUAL_LINK_BYTES));
      results[at] = cost > linksLeft ? NOT_SHOWN : json;
      if (cost > linksLeft) continue;
      linksLeft -= cost;
      take(bytes);
    }
  }
  const pieces: Buffer[] = [];
  for (const some of chunksOf(results, WRITTEN_TOGETHER)) {
    pieces.push(Buffer.from((pieces.length === 0 ? '{"results":[' : ',') + some.join()));
    await nextTurn();
  }
  pieces.push(Buffer.from(']}'));
  return { bytes: pieces.reduce((sum, { length }) => sum + length, 0), pieces: pieces.values() };
}
