import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Link } from '@shortlink/sdk';
import { type Backend, createBackend } from './backend.ts';
import { CLI_PROGRAM } from './programs.ts';
import { type ProgramResult, type RunOptions, runProgram } from './run-program.ts';
import { admin, type ServerProcess } from './server-process.ts';

export interface AccountRow {
  id: string;
  name: string;
  plan: string;
  limits: Record<string, number | null>;
}

export interface KeyRow {
  id: string;
  account_id: string;
  name: string;
  permissions: string[];
  key: string;
}

/** The service on a fresh database, with a folder of its own, and what a test does with it. */
export class World {
  readonly folder: string;
  readonly database: string;
  server: ServerProcess;
  readonly #backend: Backend;

  private constructor(folder: string, backend: Backend, server: ServerProcess) {
    this.folder = folder;
    this.database = backend.database;
    this.server = server;
    this.#backend = backend;
  }

  static async create(args: readonly string[] = []): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'shortlink-e2e-'));
    const backend = await createBackend(folder);
    const { database } = backend;
    return new World(folder, backend, await backend.start({ database, args }));
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Starts the server again on the same port and database. */
  async restart(): Promise<void> {
    const { port } = this.server;
    await this.server.stop();
    this.server = await this.#backend.start({ database: this.database, port });
  }

  async account(
    plan: string,
    limits: Record<string, number | 'unlimited'> = {},
  ): Promise<AccountRow> {
    const flags = Object.entries(limits).flatMap(([name, value]) => [
      '--limit',
      `${name}=${value}`,
    ]);
    return admin(this.database, [
      'accounts',
      'create',
      '--name',
      `${plan} test`,
      '--plan',
      plan,
      ...flags,
    ]);
  }

  async key(accountId: string, ...permissions: string[]): Promise<KeyRow> {
    const flags = permissions.flatMap((permission) => ['--permission', permission]);
    return admin(this.database, [
      'keys',
      'create',
      '--account',
      accountId,
      '--name',
      'test',
      ...flags,
    ]);
  }

  /** An account on this plan with one key. */
  async caller(plan: string, limits: Record<string, number | 'unlimited'> = {}) {
    const account = await this.account(plan, limits);
    const key = await this.key(account.id);
    return { account, key: key.key, keyId: key.id };
  }

  /** One raw request: no client in between, so that bodies and headers are seen as they are on the wire. */
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

  /** A link as the operator sees it, through `links show`. */
  linkByCode(code: string): Promise<Link> {
    return admin(this.database, ['links', 'show', code]);
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
    await this.#backend.remove();
    await rm(this.folder, { recursive: true, force: true });
  }
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape, also wrong ones.
  json: any;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
