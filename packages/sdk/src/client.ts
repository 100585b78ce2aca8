import * as check from './check-options.ts';
import { createRedact } from './http/failure.ts';
import { Limiter } from './http/limiter.ts';
import { systemClock } from './http/time.ts';
import { HttpTransport } from './http/transport.ts';
import { createReport, LOG_LEVELS, makeLog } from './http/watching.ts';
import {
  CLIENT_OPTIONS,
  type ClientSettings,
  DEFAULT_OPTIONS,
  type ShortlinkOptions,
} from './options.ts';
import { Jobs } from './resources/jobs.ts';
import { Links } from './resources/links.ts';
import { KnownJobs } from './resources/poll-timing.ts';
import { UsageResource } from './resources/usage.ts';

/** What the clients of one account share. */
interface Account {
  /** Key, address and pace: clients with the same ones share it. */
  name: string;
  limiter: Limiter;
  known: KnownJobs;
}

/** The account of the client that `withOptions` made these options from. */
const accounts = /* @__PURE__ */ new WeakMap<ShortlinkOptions, Account>();

/**
 * Client of a Shortlink service. One client shares one cooldown and one pace, so use one per API key.
 *
 * @example
 * const shortlink = new Shortlink({ apiKey, baseUrl: 'https://go.example.com' });
 * const link = await shortlink.links.create({ target_url: 'https://example.com/docs' });
 */
export class Shortlink {
  /** Creates links: one, a batch, or any number. */
  readonly links: Links;
  /** Batch jobs: get one, or wait for one. */
  readonly jobs: Jobs;
  /** How much of its plan the account uses. An addition of the reference server. */
  readonly usage: UsageResource;

  readonly #options: ShortlinkOptions;
  readonly #account: Account;

  /** @throws InvalidOptionError when an option can't be used, or the API key or address is given nowhere */
  constructor(options?: ShortlinkOptions) {
    const settings = resolveOptions(options);
    const { apiKey, baseUrl, requestsPerMinute } = settings;
    const name = [apiKey, baseUrl, requestsPerMinute].join(' ');
    const known = new KnownJobs();
    const own = { name, known, limiter: new Limiter(requestsPerMinute, systemClock) };
    const other = options && accounts.get(options);
    this.#account = other?.name === name ? other : own;
    this.#options = { ...options, apiKey, baseUrl };
    const shared = { ...settings, ...this.#account, clock: systemClock, random: Math.random };
    const parts = { ...shared, transport: new HttpTransport(shared) };
    this.jobs = new Jobs(parts);
    this.links = new Links(parts, this.jobs);
    this.usage = new UsageResource(parts);
  }

  /**
   * Another client like this one, with some options replaced; `undefined` keeps what this one has. The two share cooldown
   * and pace where key, address and `requestsPerMinute` are the same.
   *
   * @example
   * const patient = shortlink.withOptions({ maxRetryAfterMs: 3_600_000 });
   *
   * @throws InvalidOptionError as the constructor does
   */
  withOptions(options: ShortlinkOptions): Shortlink {
    const merged = { ...this.#options, ...check.given(options, CLIENT_OPTIONS) };
    accounts.set(merged, this.#account);
    return clientWith(merged);
  }
}

/** A class that names itself is called `_Shortlink` in the build, and `console.log(client)` would say so. */
const clientWith = (options: ShortlinkOptions) => new Shortlink(options);

/** Checks the client's options and fills in environment and defaults. @throws InvalidOptionError */
export function resolveOptions(asGiven: ShortlinkOptions | undefined): ClientSettings {
  const { fetchOptions, headers, hooks, logger, logLevel, ...options } = {
    ...DEFAULT_OPTIONS,
    ...check.given(asGiven, CLIENT_OPTIONS),
  };
  // A GET has no body, so it would be sent with this one. All else that the client sets is overridden at each request.
  const { body: _, ...others }: Record<string, unknown> = fetchOptions ?? {};
  // A key for all requests of a client would give the second one the response to the first.
  if (typeof options.idempotency !== 'boolean') {
    check.refuse('idempotency', 'true or false; a key is for one call');
  }
  if (logLevel !== undefined) check.oneOf('logLevel', logLevel, LOG_LEVELS);
  const apiKey = check.apiKey(options.apiKey ?? readEnv('SHORTLINK_API_KEY'));
  return {
    ...options,
    apiKey,
    baseUrl: check.baseUrl(options.baseUrl ?? readEnv('SHORTLINK_BASE_URL')),
    fetchOptions: others,
    headers: check.headers(headers),
    redact: createRedact(apiKey),
    report: createReport(hooks, makeLog(logger, logLevel, readEnv('SHORTLINK_LOG'))),
  };
}

/** An environment variable. Undefined also where it is empty, or reading it is not allowed (Deno without `--allow-env`). */
function readEnv(name: string): string | undefined {
  try {
    const env: Record<string, string | undefined> = Reflect.get(globalThis, 'process')?.env ?? {};
    return env[name] || undefined;
  } catch {
    return undefined;
  }
}
