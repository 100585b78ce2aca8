import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CLI_PROGRAM, commandOf } from '../src/programs.ts';
import { runCommand } from '../src/run-command.ts';
import { type ProgramResult, runProgram } from '../src/run-program.ts';
import { World } from '../src/world.ts';

const CI = fileURLToPath(new URL('../../../examples/ci', import.meta.url));

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** A repository at a host of git, as a developer and the CI jobs see it. */
class Repository {
  readonly folder: string;
  readonly env: Record<string, string>;
  #jobs = 0;

  constructor(folder: string, key: string) {
    this.folder = folder;
    this.env = {
      SHORTLINK: commandOf(CLI_PROGRAM).join(' '),
      SHORTLINK_API_KEY: key,
      SHORTLINK_BASE_URL: world.server.url,
      CI: 'true',
      HOME: folder,
      GIT_CONFIG_GLOBAL: join(folder, 'gitconfig'),
      GIT_CONFIG_NOSYSTEM: '1',
    };
  }

  async create(): Promise<void> {
    await mkdir(this.folder);
    await writeFile(
      join(this.folder, 'gitconfig'),
      '[user]\nname = Test\nemail = test@example.com\n[init]\ndefaultBranch = main\n',
    );
    await this.git(this.folder, 'init', '--quiet', '--bare', 'origin.git');
    await this.git(this.folder, 'clone', '--quiet', 'origin.git', 'work');
    await cp(join(CI, 'links.csv'), join(this.folder, 'work/links.csv'));
    await cp(join(CI, 'import-links.mjs'), join(this.folder, 'work/import-links.mjs'));
  }

  git(cwd: string, ...args: string[]): Promise<string> {
    return runCommand('git', args, { cwd, env: this.env });
  }

  /** The developer changes the file, as it is at the host, and pushes it. */
  async push(change: (text: string) => string): Promise<void> {
    const work = join(this.folder, 'work');
    if (this.#jobs > 0) await this.git(work, 'pull', '--quiet', '--rebase', 'origin', 'main');
    const path = join(work, 'links.csv');
    await writeFile(path, change(await readFile(path, 'utf8')));
    await this.git(work, 'add', '--all');
    await this.git(work, 'commit', '--quiet', '--allow-empty', '-m', 'Change the links');
    await this.git(work, 'push', '--quiet', 'origin', 'HEAD:main');
  }

  /** A CI job: a fresh checkout, without anything of an earlier one. */
  async checkout(): Promise<string> {
    this.#jobs += 1;
    const name = `job-${this.#jobs}`;
    await this.git(this.folder, 'clone', '--quiet', 'origin.git', name);
    return join(this.folder, name);
  }

  async job(folder?: string): Promise<ProgramResult & { summary: string }> {
    const cwd = folder ?? (await this.checkout());
    const page = join(this.folder, `summary-${this.#jobs}.md`);
    const result = await runProgram(join(cwd, 'import-links.mjs'), ['links.csv'], {
      cwd,
      env: { ...this.env, GITHUB_STEP_SUMMARY: page },
    });
    return { ...result, summary: await readFile(page, 'utf8') };
  }

  /** The file at the host, as a map from target URL to short URL. */
  async links(): Promise<Map<string, string>> {
    const text = await this.git(join(this.folder, 'origin.git'), 'show', 'main:links.csv');
    const [header = '', ...rows] = text.trim().split('\n');
    const columns = header.split(',');
    // The sample's quoted cells hold commas, so places are counted from the end.
    const place = columns.indexOf('short_url') - columns.length;
    return new Map(rows.map((row) => [row.split(',')[0] ?? '', row.split(',').at(place) ?? '']));
  }
}

/** Links that the account has. */
async function linkCount(key: string): Promise<number> {
  const response = await fetch(`${world.server.url}/api/v1/usage`, {
    headers: { 'X-Api-Key': key },
  });
  const usage = (await response.json()) as { links: { used: number } };
  return usage.links.used;
}

describe('examples/ci: the CSV file of a repository', () => {
  let key: string;
  let repository: Repository;
  let count = 0;
  beforeEach(async () => {
    ({ key } = await world.caller('custom'));
    count += 1;
    repository = new Repository(world.path(`repository-${count}`), key);
    await repository.create();
  });

  it('gets its short links, push after push, and none twice', async () => {
    await repository.push((text) => text);
    const first = await repository.job();
    expect(first, first.stderr).toMatchObject({ exitCode: 0 });
    const published = await repository.links();
    expect([...published.values()]).toEqual(Array(3).fill(expect.stringMatching(/^http/)));
    expect(await linkCount(key)).toBe(3);

    // It grows.
    await repository.push((text) => `${text}https://example.com/winter,Winter,cold,,,,\n`);
    expect(await repository.job()).toMatchObject({ exitCode: 0 });
    expect(await linkCount(key)).toBe(4);
    const grown = Object.fromEntries(await repository.links());
    expect(grown).toMatchObject(Object.fromEntries(published));

    // A title is edited, and the rows are sorted.
    await repository.push((text) => {
      const [header = '', ...rows] = text.replace('Winter', 'Deep winter').trim().split('\n');
      return `${[header, ...rows.sort().reverse()].join('\n')}\n`;
    });
    expect(await repository.job()).toMatchObject({ exitCode: 0 });
    expect(await linkCount(key)).toBe(4);

    // A bad row fails the job, and is shown at its line; corrected, it is the only one that is created.
    await repository.push((text) => `${text}nowhere,Bad,,,,,\n`);
    const bad = await repository.job();
    expect(bad.exitCode).toBe(2);
    expect(bad.stdout).toContain(
      '::error file=links.csv,line=6::not an absolute http or https URL',
    );
    expect(bad.summary).toContain('| 6 | not an absolute');
    expect(await linkCount(key)).toBe(4);
    await repository.push((text) => text.replace('nowhere', 'https://example.com/fixed'));
    expect(await repository.job()).toMatchObject({ exitCode: 0 });
    expect(await linkCount(key)).toBe(5);

    // A job creates links, and its commit is lost with its machine.
    await repository.push((text) => `${text}https://example.com/lost,Lost,,,,,\n`);
    const lost = await repository.checkout();
    await repository.git(lost, 'remote', 'set-url', '--push', 'origin', '/nonexistent');
    expect((await repository.job(lost)).exitCode).toBe(1);
    expect(await linkCount(key)).toBe(6);
    expect(await repository.job()).toMatchObject({ exitCode: 0 });
    expect(await linkCount(key)).toBe(6);
    const links = await repository.links();
    expect(links.size).toBe(6);
    expect(new Set(links.values()).size).toBe(6);
    expect(Object.fromEntries(links)).toMatchObject(Object.fromEntries(published));
    const nothing = await repository.job();
    expect(nothing).toMatchObject({ exitCode: 0 });
    expect(nothing.summary).toMatch(/\| 6 \| 6 \| 0 \|/);
  });

  it('takes in what somebody pushed while the job was running', async () => {
    await repository.push((text) => text);
    const job = await repository.checkout();
    await repository.push((text) => `${text}https://example.com/meanwhile,Meanwhile,\n`);
    expect(await repository.job(job)).toMatchObject({ exitCode: 0 });
    const links = await repository.links();
    expect(links.size).toBe(4);
    expect([...links.values()]).toEqual(Array(4).fill(expect.stringMatching(/^http/)));
    expect(await linkCount(key)).toBe(4);
  });

  it('keeps what was created before the plan was full', async () => {
    const { key: small } = await world.caller('custom', { links: 2 });
    const limited = new Repository(world.path(`limited-${count}`), small);
    await limited.create();
    await limited.push((text) => text);
    const result = await limited.job();
    expect(result.exitCode).toBe(5);
    expect(result.stdout).toContain('::error file=links.csv::');
    const filled = [...(await limited.links()).values()].filter((url) => url !== '');
    expect(filled).toHaveLength(2);
    expect(await linkCount(small)).toBe(2);
  });

  it('is run by the workflow the way it is tested here', async () => {
    const workflow = await readFile(join(CI, 'import-links.yml'), 'utf8');
    expect(workflow).toContain('run: node import-links.mjs links.csv');
    expect(workflow).toContain('contents: write');
    expect(workflow).not.toContain('cache');
    for (const name of ['SHORTLINK_API_KEY', 'SHORTLINK_BASE_URL']) {
      expect(workflow).toMatch(new RegExp(`^ +${name}: `, 'm'));
    }
  });
});
