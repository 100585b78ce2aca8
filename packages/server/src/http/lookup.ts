import { type Link, MAX_BODY_BYTES } from '@shortlink/sdk/wire';
import type { Context } from 'hono';
import { invalidBatch, invalidRequest, overloaded } from '../domain/problem.ts';
import { domainIdsOf } from '../domain/validate-link.ts';
import {
  type LookupEntry,
  validateLookup,
  validateLookupOutline,
} from '../domain/validate-lookup.ts';
import type { Store } from '../store/store.ts';
import type { CallerEnv, RouteDeps } from './context.ts';
import { ResponseTurns, streamOf, WHOLE_BYTES } from './large-responses.ts';
import { withJsonBody } from './read-body.ts';
import { respond } from './respond.ts';

/** Links of one entry, and of a whole response. */
const MAX_ENTRY_LINKS = 20;
const MAX_LINKS = 50_000;

/** A response whose links take this much gets no other: most take a fifth of it, the longest ones four times as much. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Entries that are read together. */
const READ_TOGETHER = 250;

/** How long a look-up waits for the account's jobs, how often it looks at them, and how many of an account may wait. */
const MAX_WAIT_MS = 10_000;
const LOOK_MS = { first: 10, most: 250 } as const;
const MAX_WAITING = 16;

/** `POST /api/v1/links/lookup`: the links of the account that lead to the given targets, or have the given codes. */
export function lookUpLinks({ store, bodyRoom }: Pick<RouteDeps, 'store' | 'bodyRoom'>) {
  const turns = new ResponseTurns('look-ups');
  const waitUntilWhole = wholenessOf(store);
  return (c: Context<CallerEnv>): Promise<Response> => {
    const { accountId } = c.get('caller');
    return withJsonBody<LookupEntry[]>(c, bodyRoom, {
      maxBytes: MAX_BODY_BYTES,
      domainIds: (body) => {
        const outline = validateLookupOutline(body);
        return outline.ok ? domainIdsOf(outline.value) : [];
      },
      findDomains: (ids) => store.ownedDomains(accountId, ids),
      check: async ({ value }, ownedDomains) => {
        const outline = validateLookupOutline(value);
        const checked = outline.ok ? await validateLookup(outline.value, ownedDomains) : outline;
        if (!checked.ok) throw invalidBatch(checked.details, outline.ok ? outline.value.list : '');
        return checked.value;
      },
      respond: async (entries) => {
        await waitUntilWhole(c);
        const endTurn = await turns.begin(c);
        try {
          const pieces = await readResults(store, accountId, entries);
          const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
          const isSmall = bytes <= WHOLE_BYTES;
          if (isSmall) endTurn();
          const body = isSmall ? Buffer.concat(pieces) : streamOf(pieces.values(), endTurn);
          const headers = { 'Content-Type': 'application/json', 'Content-Length': String(bytes) };
          return respond(c, body, 200, headers);
        } catch (error) {
          endTurn();
          throw error;
        }
      },
    });
  };
}

/**
 * Resolves once the store can find every link that was acknowledged before the call, and every link of the jobs that were accepted before it.
 * Nothing is held while it waits, neither a connection to the database nor a thread; when the client is gone, it ends.
 */
function wholenessOf(store: Pick<Store, 'unfinishedJobs' | 'indexLinks'>) {
  const waiting = new Map<string, number>();
  return async (c: Context<CallerEnv>): Promise<void> => {
    const { accountId } = c.get('caller');
    const others = waiting.get(accountId) ?? 0;
    if (others >= MAX_WAITING)
      throw overloaded('Too many look-ups wait for jobs; try again in 1 s.');
    waiting.set(accountId, others + 1);
    try {
      const giveUpAt = performance.now() + MAX_WAIT_MS;
      let due = await store.unfinishedJobs(accountId);
      for (
        let waitMs: number = LOOK_MS.first;
        due.length > 0 || !(await store.indexLinks()).done;
      ) {
        if (performance.now() >= giveUpAt) {
          throw overloaded(
            'Links that were accepted before are still being created; try again in 1 s.',
          );
        }
        if (c.env?.incoming?.socket.destroyed === true) {
          throw invalidRequest('The client closed the connection.');
        }
        if (due.length === 0) continue;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        waitMs = Math.min(2 * waitMs, LOOK_MS.most);
        const unfinished = new Set(await store.unfinishedJobs(accountId));
        due = due.filter((id) => unfinished.has(id));
      }
    } finally {
      const left = (waiting.get(accountId) ?? 1) - 1;
      if (left > 0) waiting.set(accountId, left);
      else waiting.delete(accountId);
    }
  };
}

/** The body of the response. Once it is full, entries get no links, but `more` where they have some. */
async function readResults(
  store: Pick<Store, 'findLinks'>,
  accountId: string,
  entries: readonly LookupEntry[],
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let linksLeft = MAX_LINKS;
  let bytesLeft = MAX_BYTES;
  const take = (found: readonly Link[]): string => {
    const most = bytesLeft > 0 ? Math.min(MAX_ENTRY_LINKS, linksLeft) : 0;
    const links = found.slice(0, most);
    linksLeft -= links.length;
    const json = JSON.stringify({ links, more: found.length > most });
    if (links.length > 0) bytesLeft -= json.length;
    return json;
  };
  for (let start = 0; start < entries.length; start += READ_TOGETHER) {
    const most = bytesLeft > 0 ? Math.min(MAX_ENTRY_LINKS, linksLeft) : 0;
    const together = entries.slice(start, start + READ_TOGETHER);
    const found = await store.findLinks(accountId, together, most + 1);
    const opening = start === 0 ? '{"results":[' : ',';
    const closing = start + READ_TOGETHER >= entries.length ? ']}' : '';
    pieces.push(Buffer.from(`${opening}${found.map(take).join()}${closing}`));
  }
  return pieces;
}
