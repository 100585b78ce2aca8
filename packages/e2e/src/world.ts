import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Link } from '@shortlink/sdk';
import { freePort } from '../../server/test/free-port.ts';
import { type Backend, createBackend } from './backend.ts';
import type { Store } from './inner-server.ts';
import type { ClockMessage } from './movable-clock.ts';
import { type Limits, newAccount, newCaller, newKey, openDatabase } from './operator.ts';
import { CLI_PROGRAM } from './programs.ts';
import { type ProgramResult, type RunOptions, runProgram } from './run-program.ts';
import type { ServerProcess, StartOptions } from './server-process.ts';

/** What `keys create` prints. */
export interface KeyRow {
  id: string;
  account_id: string;
  name: string;
  permissions: string[];
  key: string;
}

/** How the servers of a world are started. */
export type WorldOptions = Pick<StartOptions, 'args' | 'hasMovableClock' | 'isAlone'>;

/** The service on a fresh database, with a folder of its own, and what a test does with it. */
export class World {
  /** The working directory of programs; {@link path} names files in it. */
  folder: string;
  readonly database: string;
  server: ServerProcess;
  readonly #root: string;
  readonly #backend: Backend;
  readonly #options: WorldOptions;
  #store: Promise<Store> | undefined;
  #clock: ClockMessage | undefined;

  private constructor(
    root: string,
    backend: Backend,
    server: ServerProcess,
    options: WorldOptions,
  ) {
    this.folder = root;
    this.#root = root;
    this.database = backend.database;
    this.server = server;
    this.#backend = backend;
    this.#options = options;
  }

  static async create(options: WorldOptions = {}): Promise<World> {
    const root = await mkdtemp(join(tmpdir(), 'shortlink-e2e-'));
    const backend = await createBackend(root);
    const { database } = backend;
    // A port that nobody else gets while a test starts the server again.
    const server = await backend.start({ database, port: await freePort(), ...options });
    return new World(root, backend, server, options);
  }

  /** Gives the next test an empty folder. */
  async newFolder(): Promise<void> {
    this.folder = await mkdtemp(join(this.#root, 'test-'));
  }

  /** Sets the clocks of the servers, also of those that are started later. */
  async setClock(clock: ClockMessage): Promise<void> {
    this.#clock = clock;
    await this.server.setClock(clock);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Starts the server again on the same port and database. */
  async restart(): Promise<void> {
    const { port } = this.server;
    await this.server.stop();
    this.server = await this.#backend.start({
      ...this.#options,
      database: this.database,
      port,
    });
    if (this.#clock !== undefined) await this.server.setClock(this.#clock);
  }

  /** The database, opened directly as an operator's command does. */
  store(): Promise<Store> {
    this.#store ??= openDatabase(this.database, this.server.url);
    return this.#store;
  }

  async account(plan: string, limits?: Limits) {
    return newAccount(await this.store(), plan, limits);
  }

  async key(accountId: string, permission?: 'shortlinks:write' | 'analytics:read') {
    return newKey(await this.store(), accountId, permission);
  }

  /** An account on this plan with one key. */
  async caller(plan: string, limits?: Limits) {
    return newCaller(await this.store(), plan, limits);
  }

  /** Sends one request without a client, so that tests see bodies and headers as they are on the wire. */
  async request(
    key: string | undefined,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Answer> {
    const response = await fetch(this.server.url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(key !== undefined && { 'X-Api-Key': key }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parse(text) };
  }

  /** A link as `links show` prints it to the operator. */
  async linkByCode(code: string): Promise<Link> {
    const link = await (await this.store()).findLink(code);
    if (link === undefined) throw new Error(`no link ${code}`);
    return link;
  }

  /** Runs the real `shortlink` with this server's address and key. */
  cli(key: string, args: readonly string[], options: RunOptions = {}): Promise<ProgramResult> {
    return runProgram(CLI_PROGRAM, args, {
      cwd: this.folder,
      ...options,
      env: {
        SHORTLINK_API_KEY: key,
        SHORTLINK_BASE_URL: this.server.url,
        XDG_CONFIG_HOME: this.path('config'),
        CI: '1',
        ...options.env,
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    await (await this.#store)?.close();
    await this.#backend.remove();
    await rm(this.#root, { recursive: true, force: true });
  }
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of any shape, wrong ones included.
  json: any;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
