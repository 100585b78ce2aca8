import type { Permission, Plan, PlanLimits } from '@shortlink/sdk/wire';
import { createKey } from '../src/admin/keys.ts';
import type { AppOptions } from '../src/http/context.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import type { Domain, Store } from '../src/store/store.ts';
import { appOf } from './app-of.ts';

export const PUBLIC_URL = 'https://sho.rt';
export const LINKS = '/api/v1/links';
export const BATCH = '/api/v1/links/batch';
export const TARGET = 'https://example.com/docs';

/** 2026-11-20 10:20:30.5 UTC: in the middle of every window. */
export const START = Date.UTC(2026, 10, 20, 10, 20, 30, 500);

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape, also wrong ones.
  json: any;
}

/** The app on a store in memory, with a clock of its own, called without a socket. */
export class Fixture {
  readonly store: Store;
  readonly request: (path: string, init?: RequestInit) => Promise<Response>;
  now = START;

  private constructor(store: Store, options: Partial<AppOptions>) {
    this.store = store;
    const app = appOf({ store, publicUrl: PUBLIC_URL, now: () => this.now, ...options });
    this.request = async (path, init) => app.request(path, init);
  }

  static async open(options: Partial<AppOptions> = {}): Promise<Fixture> {
    const store = await openSqliteStore({ path: ':memory:', publicUrl: PUBLIC_URL });
    return new Fixture(options.store ?? store, options);
  }

  async account(plan: Plan = 'custom', limits: Partial<PlanLimits> = {}): Promise<string> {
    const account = await this.store.createAccount({ name: 'test', plan, limits, now: this.now });
    return account.id;
  }

  async key(accountId: string, ...permissions: Permission[]): Promise<string> {
    const granted: Permission[] = permissions.length > 0 ? permissions : ['shortlinks:write'];
    const input = { accountId, name: 'test', permissions: granted, now: this.now };
    return (await createKey(this.store, input)).key;
  }

  /** A key of a new account. */
  async caller(plan: Plan = 'custom', limits: Partial<PlanLimits> = {}): Promise<string> {
    return this.key(await this.account(plan, limits));
  }

  async post(key: string, path: string, body: unknown, headers: object = {}): Promise<Answer> {
    return this.send(path, {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  async get(key: string, path: string): Promise<Answer> {
    return this.send(path, { headers: { 'X-Api-Key': key } });
  }

  async send(path: string, init?: RequestInit): Promise<Answer> {
    const response = await this.request(path, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : undefined,
    };
  }

  /** Links of the key's account, to show that something was or was not created. */
  async linksUsed(key: string): Promise<number> {
    return (await this.get(key, '/api/v1/usage')).json.links.used;
  }

  /** Runs a job to its end, as the job runner does. */
  async runJob(jobId: string): Promise<void> {
    while (!(await this.store.runJobChunk(jobId, this.now)).done);
  }
}

export function entries(count: number): { target_url: string }[] {
  return Array.from({ length: count }, (_, i) => ({ target_url: `${TARGET}/${i}` }));
}

/** Adds a custom domain that nobody has yet. */
export async function addDomain(
  store: Store,
  input: Parameters<Store['addDomain']>[0],
): Promise<Domain> {
  const domain = await store.addDomain(input);
  if (domain === undefined) throw new Error(`${input.hostname} is taken`);
  return domain;
}
