import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { runCommand } from './run-command.ts';

/** Small repositories that live for seconds are never tidied up, and need no sample hooks: both take processes and files for each command. */
const CONFIG = `
[user]
  name = Dev
  email = dev@example.com
[init]
  defaultBranch = main
  templateDir =
[gc]
  auto = 0
[maintenance]
  auto = false
[receive]
  autoGc = false
[pack]
  threads = 1
`;

/** A repository on a Git host, which a developer and CI jobs clone. */
export class GitHost {
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly #file: string;
  #jobs = 0;

  private constructor(folder: string, file: string) {
    this.folder = folder;
    this.#file = file;
    this.env = {
      HOME: folder,
      GIT_CONFIG_GLOBAL: join(folder, 'gitconfig'),
      GIT_CONFIG_NOSYSTEM: '1',
    };
  }

  /** @param file - the path of the file of links in the repository */
  static async create(folder: string, file = 'links.csv'): Promise<GitHost> {
    const host = new GitHost(folder, file);
    await mkdir(folder);
    await writeFile(join(folder, 'gitconfig'), CONFIG);
    await host.git(folder, 'init', '--quiet', '--bare', 'origin.git');
    await host.git(folder, 'clone', '--quiet', 'origin.git', 'work');
    return host;
  }

  git(cwd: string, ...args: string[]): Promise<string> {
    return runCommand('git', args, { cwd, env: this.env });
  }

  /** Where the developer works. */
  get work(): string {
    return join(this.folder, 'work');
  }

  /** The developer pulls, changes the file of links and pushes it. */
  async push(change: (text: string) => string): Promise<void> {
    if (this.#jobs > 0) await this.git(this.work, 'pull', '--quiet', '--rebase', 'origin', 'main');
    const path = join(this.work, this.#file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, change(await readFile(path, 'utf8').catch(() => '')));
    await this.commit('Change the links');
    await this.git(this.work, 'push', '--quiet', 'origin', 'HEAD:main');
  }

  async commit(message: string): Promise<void> {
    await this.git(this.work, 'add', '--all');
    await this.git(this.work, 'commit', '--quiet', '--allow-empty', '-m', message);
  }

  /** A CI job: a fresh checkout, as shallow as those of CI, without anything of an earlier one. */
  async checkout(branch = 'main'): Promise<string> {
    this.#jobs += 1;
    const name = `job-${this.#jobs}`;
    const origin = `file://${this.folder}/origin.git`;
    await this.git(this.folder, 'clone', '--quiet', '--depth=1', '-b', branch, origin, name);
    await this.git(join(this.folder, name), 'config', '--unset', 'user.email').catch(() => {});
    return join(this.folder, name);
  }

  /** The text of a file that was pushed. */
  show(file = this.#file, branch = 'main'): Promise<string> {
    return this.git(join(this.folder, 'origin.git'), 'show', `${branch}:${file}`);
  }

  /** The pushed file, as a map from target URL to short URL. */
  async links(file = this.#file, branch = 'main'): Promise<Map<string, string>> {
    const [header = '', ...rows] = (await this.show(file, branch)).trim().split('\n');
    const columns = header.split(',');
    // The sample's quoted cells hold commas, so cells are counted from the end.
    const place = columns.indexOf('short_url') - columns.length;
    const urlOf = (cells: string[]) => (columns.includes('short_url') ? cells.at(place) : '') ?? '';
    return new Map(rows.map((row) => [row.split(',')[0] ?? '', urlOf(row.split(','))]));
  }

  /** Names of all refs. */
  async refs(): Promise<string[]> {
    const text = await this.git(this.folder, 'ls-remote', 'origin.git');
    return text.match(/refs\/\S+/g) ?? [];
  }

  /** Refuses pushes to refs that begin with `prefix`, as the protection of a branch does: a rehearsal doesn't notice. */
  async protect(prefix: string): Promise<() => Promise<void>> {
    const hook = join(this.folder, 'origin.git/hooks/update');
    await mkdir(dirname(hook), { recursive: true });
    await writeFile(
      hook,
      `#!/bin/sh\ncase $1 in ${prefix}*) echo "protected branch" >&2; exit 1;; esac\n`,
    );
    await chmod(hook, 0o755);
    return () => rm(hook);
  }
}

/** What GitHub's API was asked for, with the comments and pull requests that it has. */
export interface GitHubApi extends AsyncDisposable {
  url: string;
  /** Hidden ones are missing in their page, which is then shorter than the others. */
  comments: {
    id: number;
    body: string;
    user: { type: string };
    author_association: string;
    isHidden?: boolean;
  }[];
  pulls: { number: number; title: string; body: string; head: string; base: string }[];
  /** Whether the token may only read, as that of a fork. */
  isReadOnly: boolean;
  /** What the next requests get in place of a response of the API. */
  faults: { status: number; body: string; headers?: Record<string, string> }[];
}

/** Who writes comments with the token of a job, and a stranger. */
export const BOT = { user: { type: 'Bot' }, author_association: 'NONE' };
export const STRANGER = { user: { type: 'User' }, author_association: 'NONE' };

/** A page of a list, with the header that says whether there are more. */
function pageOf<T extends object>(list: T[], query: URLSearchParams, response: ServerResponse) {
  const size = Number(query.get('per_page') ?? 30);
  const end = Number(query.get('page') ?? 1) * size;
  if (end < list.length) response.setHeader('Link', '<https://github.example>; rel="next"');
  return list.slice(end - size, end).filter((item) => !('isHidden' in item));
}

/** As much of GitHub's API as comments and pull requests need. */
export async function fakeGitHub(): Promise<GitHubApi> {
  const api = { comments: [], pulls: [], isReadOnly: false, faults: [] } as unknown as GitHubApi;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const fault = api.faults.shift();
    if (fault !== undefined) {
      response.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    const body = text === '' ? {} : JSON.parse(text);
    const { pathname: path, searchParams } = new URL(request.url ?? '', 'http://host');
    const last = Number(path.split('/').at(-1));
    const isRefused = api.isReadOnly && request.method !== 'GET';
    const change = <T extends object>(list: T[], made: (number: number) => T, key: keyof T) => {
      const found = list.find((item) => item[key] === last);
      if (request.method === 'GET') return pageOf(list, searchParams, response);
      if (isRefused) return list;
      if (request.method === 'PATCH' && found) return Object.assign(found, body);
      const item = { ...made(list.length + 1), ...body };
      list.push(item);
      return item;
    };
    const answer = path.includes('/issues/')
      ? change(api.comments, (id) => ({ id, body: '', ...BOT }), 'id')
      : change(
          api.pulls,
          (number) => ({
            ...{ number, title: '', body: '', head: '', base: '' },
            html_url: `https://github.example/pull/${number}`,
          }),
          'number',
        );
    response.writeHead(isRefused ? 403 : 200, { 'Content-Type': 'application/json' });
    response.end(
      JSON.stringify(isRefused ? { message: 'Resource not accessible by integration' } : answer),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  api.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  api[Symbol.asyncDispose] = async () => {
    server.closeAllConnections();
    server.close();
  };
  return api;
}
