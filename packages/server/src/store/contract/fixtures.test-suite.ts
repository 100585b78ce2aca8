import { hash } from 'node:crypto';
import {
  type BatchResultItem,
  type Permission,
  PLAN_LIMITS,
  type PlanLimits,
} from '@shortlink/sdk/wire';
import { toJobInput } from '../links.ts';
import type { Caller, NewLink, Store, StoredJob } from '../store.ts';

/** Opens a store that holds nothing. The suite closes it. */
export type OpenStore = () => Promise<Store>;

/** What the stores of this suite are opened with. */
export const PUBLIC_URL = 'https://sho.rt';

/** 10 March 2026, 12:30:15.250 UTC: no edge of any window. */
export const NOW = Date.UTC(2026, 2, 10, 12, 30, 15, 250);

export function sha256(key: string): Uint8Array {
  return hash('sha256', key, 'buffer');
}

/** Makes an account on the Custom plan, unlimited but for `limits`, with one key. */
export async function newCaller(
  store: Store,
  limits: Partial<PlanLimits> = {},
  permissions: readonly Permission[] = ['shortlinks:write'],
): Promise<Caller> {
  const account = await store.createAccount({
    name: 'Acme',
    plan: 'custom',
    limits: { ...PLAN_LIMITS.custom, ...limits },
    now: NOW,
  });
  return newKey(store, account.id, permissions);
}

/** Makes one more key of an account. */
export async function newKey(
  store: Store,
  accountId: string,
  permissions: readonly Permission[] = ['shortlinks:write'],
): Promise<Caller> {
  const hash = sha256(crypto.randomUUID());
  const outcome = await store.createKey({ accountId, name: 'ci', permissions, hash, now: NOW });
  if (!outcome.ok) throw new Error(`no key: ${outcome.limit}`);
  const caller = await store.findKeyByHash(hash);
  if (caller === undefined) throw new Error('the new key is unknown');
  return caller;
}

/** The nth link of a test, with every default filled in. */
export function newLink(n = 0, fields: Partial<NewLink> = {}): NewLink {
  return {
    target_url: `https://example.com/${n}`,
    title: '',
    redirect_type: 302,
    tags: [],
    domain_id: null,
    ...fields,
  };
}

export function newLinks(count: number): NewLink[] {
  return Array.from({ length: count }, (_, n) => newLink(n));
}

/** Accepts a job of `total` links and returns its id. */
export async function newJob(
  store: Store,
  caller: Caller,
  total: number,
  now = NOW,
): Promise<string> {
  const outcome = await store.createJob({ caller, input: toJobInput(newLinks(total)), now });
  if (!outcome.ok) throw new Error(`no job: ${outcome.reason}`);
  return outcome.value.job_id;
}

/** Runs a job to its end and returns the progress after each chunk. */
export async function finishJob(store: Store, jobId: string): Promise<number[]> {
  const progress: number[] = [];
  for (;;) {
    const { processed, done } = await store.runJobChunk(jobId, NOW);
    progress.push(processed);
    if (done) return progress;
  }
}

/** The results of a job, read chunk by chunk; they have the length that the job states. */
export async function resultsOf(
  store: Store,
  job: StoredJob | undefined,
): Promise<BatchResultItem[]> {
  if (job === undefined) throw new Error('no job');
  const chunks: Uint8Array[] = [];
  for (let chunk = 0; chunk < job.results.chunks; chunk += 1) {
    const bytes = await store.readJobResults(job.id, chunk);
    if (bytes === undefined) throw new Error(`no chunk ${chunk}`);
    chunks.push(bytes);
  }
  const text = chunks.map((bytes) => new TextDecoder().decode(bytes)).join();
  if (Buffer.byteLength(text) !== job.results.bytes) throw new Error('another length than stated');
  return JSON.parse(`[${text}]`);
}

/** Tables whose rows are kept: no row of any other table may outlive its retention. */
const KEPT = new Set(
  `accounts aliases api_keys corrections domains key_uses link_changes link_clicks link_totals links schema_migrations top_links`.split(
    ' ',
  ),
);

/**
 * Leaves a row in each table that only remembers, and deletes them by pruning.
 *
 * @param count - Rows of every table of the database, by its name.
 * @returns the tables that had no row before, and those that have one afterwards
 */
export async function pruneEverything(
  store: Store,
  count: () => Promise<ReadonlyMap<string, number>>,
): Promise<{ unused: string[]; unpruned: string[] }> {
  const remembering = async (has: (rows: number) => boolean) =>
    [...(await count())].flatMap(([name, rows]) => (!KEPT.has(name) && has(rows) ? [name] : []));
  const caller = await newCaller(store, { requests_per_day: 1, batch_size: 200 });
  // On PostgreSQL, the minute before this one goes to its day.
  for (const at of [NOW - 60_000, NOW]) await store.admit(caller, at);
  const idempotency = { key: 'k', fingerprint: 'f' };
  const created = await store.createLink({ caller, input: newLink(), now: NOW, idempotency });
  if (!created.ok) throw new Error(created.reason);
  await store.createJob({ caller, input: toJobInput(newLinks(201)), now: NOW });
  await finishJob(store, await newJob(store, caller, 101));
  const write = { writer: 'w', number: 1, now: NOW };
  await store.addClicks(new Map([[created.value.code, 1]]), write);
  const unused = await remembering((rows) => rows === 0);
  await store.prune(Math.max(NOW, Date.now()) + 500 * 86_400_000);
  return { unused, unpruned: await remembering((rows) => rows > 0) };
}

/** Links in use of the account's total. */
export async function linksUsed(store: Store, caller: Caller): Promise<number> {
  return (await store.usage(caller.accountId, NOW)).links.used;
}
