import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type ActionResult, runAction } from '../src/fake-runner.ts';
import { CLI_PROGRAM, commandOf } from '../src/programs.ts';
import { runCommand } from '../src/run-command.ts';
import { World } from '../src/world.ts';

const CI = fileURLToPath(new URL('../../../examples/ci', import.meta.url));
const ACTION = fileURLToPath(new URL('../../action', import.meta.url));

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** A repository on a Git host, which a developer and CI jobs clone. */
class Repository {
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly key: string;
  #jobs = 0;

  constructor(folder: string, key: string) {
    this.folder = folder;
    this.key = key;
    this.env = {
      SHORTLINK: JSON.stringify(commandOf(CLI_PROGRAM)),
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
  }

  git(cwd: string, ...args: string[]): Promise<string> {
    return runCommand('git', args, { cwd, env: this.env });
  }

  /** The developer pulls, changes the file and pushes it. */
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

  /** The action in a CI job, with the inputs of the example's workflow. */
  async job(folder?: string, inputs: Record<string, string> = {}): Promise<ActionResult> {
    const cwd = folder ?? (await this.checkout());
    const given = {
      file: 'links.csv',
      'api-key': this.key,
      'base-url': world.server.url,
      commit: 'true',
      ...inputs,
    };
    return runAction(ACTION, given, { cwd, env: this.env });
  }

  /** The pushed file, as a map from target URL to short URL. */
  async links(): Promise<Map<string, string>> {
    const text = await this.git(join(this.folder, 'origin.git'), 'show', 'main:links.csv');
    const [header = '', ...rows] = text.trim().split('\n');
    const columns = header.split(',');
    // The sample's quoted cells hold commas, so cells are counted from the end.
    const place = columns.indexOf('short_url') - columns.length;
    return new Map(rows.map((row) => [row.split(',')[0] ?? '', row.split(',').at(place) ?? '']));
  }
}

/** The number of links of the account. */
async function linkCount(key: string): Promise<number> {
  const response = await fetch(`${world.server.url}/api/v1/usage`, {
    headers: { 'X-Api-Key': key },
  });
  const usage = (await response.json()) as { links: { used: number } };
  return usage.links.used;
}

describe('the action, with the CSV file of a repository', () => {
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
    expect(first, first.stderr).toMatchObject({
      exitCode: 0,
      outputs: { 'exit-code': '0', rows: '3', existing: '0', created: '3', rejected: '0' },
    });
    const published = await repository.links();
    expect([...published.values()]).toEqual(Array(3).fill(expect.stringMatching(/^http/)));
    expect(await linkCount(key)).toBe(3);

    // The file grows.
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
    expect(bad).toMatchObject({ exitCode: 2, outputs: { 'exit-code': '2', created: '0' } });
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

  it('takes options, and leaves the file to others where it is not to commit it', async () => {
    await repository.push(() => 'Long URL,Old\nhttps://example.com/a,https://example.com/b\n');
    const folder = await repository.checkout();
    const options = '\n  --map=target_url=Long URL\n\n  --add-tag=from ci\n';
    const result = await repository.job(folder, { commit: 'false', options });
    expect(result, result.stderr).toMatchObject({ exitCode: 0, outputs: { created: '1' } });
    expect(await readFile(join(folder, 'links.csv'), 'utf8')).toMatch(
      /^https:\/\/example\.com\/a,.*,http.*,created,/m,
    );
    expect(await repository.git(folder, 'log', '--format=%s')).not.toContain('Fill in');
  });

  it('says what is wrong before there is a link', async () => {
    await repository.push((text) => text);
    const folder = await repository.checkout();
    const missing = await repository.job(folder, { file: 'missing.csv' });
    expect(missing).toMatchObject({ exitCode: 2, outputs: { 'exit-code': '2', rows: '0' } });
    expect(missing.stdout).toMatch(/^::error file=missing\.csv::/m);
    expect(missing.summary).toContain('exit code 2');
    const denied = await repository.job(folder, { 'api-key': 'sl_wrong' });
    expect(denied.exitCode).toBe(4);
    expect(denied.stdout).toMatch(/^::error file=links\.csv::/m);
    expect(denied.stdout + denied.stderr + denied.summary).not.toContain('sl_wrong');
  });

  it('is used by the workflow of the example the way it is tested here', async () => {
    const text = await readFile(join(CI, 'import-links.yml'), 'utf8');
    const { permissions, jobs } = parse(text);
    expect(permissions).toEqual({ contents: 'write' });
    const { with: inputs } = jobs.import.steps[1];
    const action = parse(await readFile(join(ACTION, 'action.yml'), 'utf8'));
    const required = Object.keys(action.inputs).filter((name) => action.inputs[name].required);
    expect(Object.keys(inputs)).toEqual([...required, 'commit']);
  });
});
