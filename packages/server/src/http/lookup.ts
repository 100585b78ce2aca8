import type { Context } from 'hono';
import { badRequest, overloaded } from '../domain/problem.ts';
import type { LookupEntry } from '../domain/validate-lookup.ts';
import type { Store } from '../store/store.ts';
import type { CallerEnv, RouteDeps } from './context.ts';
import { ResponseTurns, streamOf } from './large-responses.ts';
import { withBody } from './read-body.ts';
import { respond } from './respond.ts';

/** Links of one entry, and of a whole response, where one that is longer than usual counts as several: so a response has some 32 MiB at most. */
const MAX_ENTRY_LINKS = 20;
const MAX_LINKS = 50_000;
const USUAL_LINK_CHARACTERS = 640;

/** How long a look-up waits for links that are still being created, and how often it looks, in milliseconds. */
const MAX_WAIT_MS = 10_000;
const LOOK_MS = 25;

/** `POST /api/v1/links/lookup`: the links of the account that lead to the given targets, or have the given codes. */
export function lookUpLinks(deps: RouteDeps) {
  const { store } = deps;
  const turns = new ResponseTurns('look-ups');
  return (c: Context<CallerEnv>): Promise<Response> => {
    const { accountId } = c.get('caller');
    return withBody(c, deps, 'lookup', async (body) => {
      if ('problem' in body) throw badRequest(body.problem);
      const endTurn = await turns.begin(c);
      try {
        await waitForLinks(store, accountId);
        const pieces = await readResults(store, accountId, body.input);
        const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
        const headers = { 'Content-Type': 'application/json', 'Content-Length': String(bytes) };
        return respond(c, streamOf(pieces.values(), endTurn), 200, headers);
      } catch (error) {
        endTurn();
        throw error;
      }
    });
  };
}

/** Resolves once the store finds every link that was acknowledged before the call, and every link of the jobs that were accepted before it. */
async function waitForLinks(
  store: Pick<Store, 'unfinishedJobs' | 'indexLinks'>,
  accountId: string,
): Promise<void> {
  const giveUpAt = performance.now() + MAX_WAIT_MS;
  let due = await store.unfinishedJobs(accountId);
  while (due.length > 0 || !(await store.indexLinks()).done) {
    if (performance.now() >= giveUpAt) {
      throw overloaded(
        'Links that were accepted before are still being created; try again in 1 s.',
      );
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const unfinished = new Set(await store.unfinishedJobs(accountId));
    due = due.filter((id) => unfinished.has(id));
  }
}

/** The body of the response. Once it is full, entries get no links, but `more` where they have some. */
async function readResults(
  store: Pick<Store, 'findLinks'>,
  accountId: string,
  chunks: readonly string[],
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let linksLeft = MAX_LINKS;
  for (const [index, chunk] of chunks.entries()) {
    const entries: LookupEntry[] = JSON.parse(chunk);
    const most = Math.min(MAX_ENTRY_LINKS, linksLeft) + 1;
    const found = await store.findLinks(accountId, entries, most);
    const results = found.map((all) => {
      const links = all.slice(0, Math.min(MAX_ENTRY_LINKS, linksLeft));
      const json = JSON.stringify({ links, more: links.length < all.length });
      const cost = Math.max(links.length, Math.floor(json.length / USUAL_LINK_CHARACTERS));
      linksLeft = Math.max(0, linksLeft - cost);
      return json;
    });
    const opening = index === 0 ? '{"results":[' : ',';
    const closing = index === chunks.length - 1 ? ']}' : '';
    pieces.push(Buffer.from(`${opening}${results.join()}${closing}`));
  }
  return pieces;
}
