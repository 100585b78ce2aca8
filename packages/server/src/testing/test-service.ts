import type { Permission, Plan, PlanLimits } from '@shortlink/sdk/wire';
import { PERMISSIONS, PLAN_LIMITS } from '@shortlink/sdk/wire';
import { DEFAULT_PERMISSIONS, generateApiKey, hashApiKey } from '../api-key.ts';
import { createService, type Service } from '../service.ts';
import type { Store } from '../store/store.ts';
import { type FaultRule, FaultScript, fetchWithFaults, refuseOthers } from './faults.ts';

/** What a service for tests is like. */
export interface TestServiceOptions {
  /** Plan of the account. @default 'custom', which has no limit but 10,000 links a batch */
  plan?: Plan | undefined;
  /** Limits that replace the plan's own. @default none */
  limits?: Partial<PlanLimits> | undefined;
  /** Permissions of the key. @default ['shortlinks:write'] */
  permissions?: readonly Permission[] | undefined;
  /** What goes wrong, in order. @default nothing */
  faults?: readonly FaultRule[] | undefined;
  /** The service's clock, in milliseconds since the epoch, to walk over the edge of a window. @default Date.now */
  now?: (() => number) | undefined;
}

/** What a test has of its service: one account and key, and a way to look inside. */
export interface TestSubject {
  /** A key of the account. */
  apiKey: string;
  accountId: string;
  /** The faults still to happen; more can be added. */
  faults: FaultScript;
  /** The base address to give to the client. */
  url: string;
  /** Cuts every connection, ends the jobs and closes the database. What was in memory is gone. */
  close: () => Promise<void>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

interface Surroundings {
  /** Is called before anything of the service ends. */
  disconnect?: () => Promise<void>;
  /** Is called after each request, and between the end of the service and that of the store. */
  save?: () => Promise<void>;
  /** Is called last, also where the service could not start, or not save. */
  release?: () => void;
}

/**
 * Starts a service without a socket; its short URLs begin with `publicUrl`. It closes the store, also where it can't start. A store that was used
 * before keeps its account, and gets a new key.
 */
export async function startTestService(
  store: Store,
  publicUrl: string,
  options: TestServiceOptions,
  { disconnect, save, release }: Surroundings = {},
) {
  const closing = new AbortController();
  let service: Service | undefined;
  const end = async () => {
    closing.abort();
    try {
      await disconnect?.();
      await service?.stop();
      await save?.();
    } finally {
      await store.close();
      release?.();
    }
  };
  let ending: Promise<void> | undefined;
  const close = () => (ending ??= end());
  try {
    const faults = new FaultScript(options.faults);
    const owner = await prepareAccount(store, options);
    service = createService({ store, publicUrl, now: options.now });
    await service.start();
    const subject = {
      ...{ ...owner, url: publicUrl, store, faults, close },
      [Symbol.asyncDispose]: close,
    } satisfies TestSubject;
    /** Responds to one request, or cuts its connection where a fault says so. */
    const answer = fetchWithFaults(service.fetch, faults, closing.signal);
    const destroy = () => {
      throw new TypeError('The connection was cut.');
    };
    /** The same without a socket: a connection that is cut is an error. */
    const fetch = (request: Request): Promise<Response> =>
      Promise.resolve(answer(request, { incoming: { socket: { destroy } } })).finally(
        () => closing.signal.aborted || save?.(),
      );
    return { subject, answer, fetch };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

/** The one account, as the options have it, and its one key. */
async function prepareAccount(store: Store, options: TestServiceOptions) {
  const { plan = 'custom', permissions = DEFAULT_PERMISSIONS, now = Date.now } = options;
  refuseOthers('option', Object.keys(options), ['plan', 'limits', 'permissions', 'faults', 'now']);
  refuseOthers('plan', [plan], Object.keys(PLAN_LIMITS));
  refuseOthers('permission', permissions, PERMISSIONS);
  const given = Object.entries(options.limits ?? {}).filter(([, limit]) => limit !== undefined);
  refuseOthers('limit', Object.keys(options.limits ?? {}), Object.keys(PLAN_LIMITS.custom));
  for (const [name, limit] of given) {
    if (limit === null || (Number.isInteger(limit) && limit >= 0)) continue;
    throw new TypeError(`The limit ${name} is ${limit}; expected a whole number, or null for none`);
  }
  const planned = { plan, limits: { ...PLAN_LIMITS[plan], ...Object.fromEntries(given) } };
  const [known] = await store.listAccounts();
  const { id } = known ?? (await store.createAccount({ name: 'test', ...planned, now: now() }));
  await store.updateAccount({ id, change: planned });
  for (const old of await store.listKeys(id)) await store.revokeKey(old.id, now());
  const apiKey = generateApiKey();
  const key = { accountId: id, name: 'test', permissions, hash: hashApiKey(apiKey), now: now() };
  const created = await store.createKey(key);
  if (!created.ok) throw new Error('The account may have no key: `limits.api_keys` is 0.');
  return { accountId: id, apiKey };
}
