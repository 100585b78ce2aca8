import { writeFileSync } from 'node:fs';
import { appendFile, chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type StubService, stubService } from '../../cli/test/stub-service.ts';
import { type ActionResult, type RunnerOptions, runAction } from '../src/fake-runner.ts';
import { fakeGitHub, GitHost, STRANGER } from '../src/git-host.ts';
import { isNight } from '../src/is-night.ts';
import { CLI_VARIABLES } from '../src/programs.ts';
import { runCommand } from '../src/run-command.ts';
import { World } from '../src/world.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const BATCH = 'POST /api/v1/links/batch';
const SAMPLE = `url,title,tags
https://example.com/spring,Spring campaign,"campaign,spring"
https://example.com/summer,Summer campaign,"campaign,summer"
https://example.com/autumn,"Autumn campaign, early",campaign
`;

let world: World;
let host: GitHost;
let count = 0;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  count += 1;
  host = await GitHost.create(world.path(`host, ${count}`));
});

interface Job extends Partial<Pick<RunnerOptions, 'onStart'>> {
  folder?: string;
  key?: string;
  url?: string;
  inputs?: Record<string, string>;
  env?: Record<string, string>;
}

/** A CI job with the action, in a fresh checkout unless there is one. */
async function run({ folder, key = '', url, inputs, env, onStart }: Job): Promise<ActionResult> {
  const given = {
    file: 'links.csv',
    'api-key': key,
    'base-url': url ?? world.server.url,
    ...inputs,
  };
  return runAction(ROOT, given, {
    cwd: folder ?? (await host.checkout()),
    env: { ...CLI_VARIABLES, ...host.env, ...env },
    onStart,
  });
}

/** The page of a run, as people read it. */
const shown = (markdown: string) =>
  markdown
    .replace(/&#(\d+);/g, (_, number) => String.fromCodePoint(Number(number)))
    .replace(/<\/?code>/g, '`');

/** The same against a service that can't be asked which links exist. */
const stubbed = (service: StubService, job: Job = {}) =>
  run({ key: service.env['SHORTLINK_API_KEY'] ?? '', url: service.url, ...job });

/** The number of links of the account. */
async function linkCount(key: string): Promise<number> {
  const { json } = await world.request(key, 'GET', '/api/v1/usage');
  return json.links.used;
}

const URLS = (size: number) => Array(size).fill(expect.stringMatching(/^http/));

describe('apply', () => {
  it('gets its short links, push after push, and none twice', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const first = await run({ key });
    expect(first, first.log).toMatchObject({
      exitCode: 0,
      outputs: { 'exit-code': '0', rows: '3', existing: '0', created: '3', rejected: '0' },
    });
    expect(first.summary).toContain('all there');
    expect(first.log).toContain('3 links created');
    expect(first.log).not.toMatch(/^\{/m);
    const published = await host.links();
    expect([...published.values()]).toEqual(URLS(3));
    expect(await linkCount(key)).toBe(3);
    expect(await host.refs()).toEqual(['refs/heads/main']);

    // The file grows.
    await host.push((text) => `${text}https://example.com/winter,Winter,cold,,,,\n`);
    expect(await run({ key })).toMatchObject({ exitCode: 0, outputs: { created: '1' } });
    const grown = Object.fromEntries(await host.links());
    expect(grown).toMatchObject(Object.fromEntries(published));

    // A title is edited, and the rows are sorted.
    await host.push((text) => {
      const [header = '', ...rows] = text.replace('Winter', 'Deep winter').trim().split('\n');
      return `${[header, ...rows.sort().reverse()].join('\n')}\n`;
    });
    const edited = await run({ key });
    expect(edited).toMatchObject({ exitCode: 0, outputs: { created: '0', changed: '1' } });
    expect(shown(edited.summary)).toMatch(/\| 2 \| changed \| `http\S+` stays \|/);

    // The target of a row is edited: another link, and the old one is named.
    await host.push((text) => text.replace('example.com/winter', 'example.com/ice'));
    const moved = await run({ key });
    expect(moved).toMatchObject({ exitCode: 0, outputs: { created: '1' } });
    expect(shown(moved.summary)).toContain('the old one still leads to the old target (line ');
    expect((await host.links()).get('https://example.com/ice')).not.toBe(
      grown['https://example.com/winter'],
    );

    // A bad row fails the job, and is shown at its line; corrected, it is the only one that is created.
    await host.push((text) => `${text}nowhere,Bad,,,,,\n`);
    const bad = await run({ key });
    expect(bad).toMatchObject({ exitCode: 2, outputs: { 'exit-code': '2', created: '0' } });
    expect(bad.log).toContain('::error file=links.csv,line=6::not an absolute http or https URL');
    expect(shown(bad.summary)).toContain('| 6 | rejected | `not an absolute');
    expect(await linkCount(key)).toBe(5);
    await host.push((text) => text.replace('nowhere', 'https://example.com/fixed'));
    expect(await run({ key })).toMatchObject({ exitCode: 0, outputs: { created: '1' } });

    // A job creates links, and its commit is lost with its machine.
    await host.push((text) => `${text}https://example.com/lost,Lost,,,,,\n`);
    const left = await host.checkout();
    expect(await run({ key, folder: left, inputs: { commit: 'false' } })).toMatchObject({
      exitCode: 0,
      outputs: { created: '1' },
    });
    expect(await run({ key })).toMatchObject({ exitCode: 0, outputs: { created: '0' } });
    expect(await linkCount(key)).toBe(7);
    const links = await host.links();
    expect(new Set(links.values()).size).toBe(6);
    const nothing = await run({ key });
    expect(nothing.outputs).toMatchObject({ rows: '6', new: '0', existing: '6', created: '0' });
  });

  it.each([';', '\t'])('shows a bad row of a file with %j between cells', async (delimiter) => {
    const { key } = await world.caller('custom');
    const lines = [
      ['url', 'title'],
      ['https://example.com/a', '"two\nlines"'],
      ['nope', 'B'],
    ];
    await host.push(() => lines.map((cells) => `${cells.join(delimiter)}\n`).join(''));
    const result = await run({ key });
    expect(result).toMatchObject({ exitCode: 2, outputs: { rows: '2', rejected: '1' } });
    expect(result.log).toMatch(/^::error file=links\.csv,line=4::.*nope/m);
    expect(shown(result.summary)).toContain('| 4 | rejected |');
    expect(await linkCount(key)).toBe(0);
  });

  it('shows a row that the service refuses where it stands, whatever is between cells', async () => {
    const service = await stubService();
    const details = [{ index: 1, field: 'target_url', message: 'Not\nallowed, 100%.' }];
    service.answer(BATCH, { status: 400, body: { error: 'bad', details } });
    await host.push(() => 'url;title\nhttps://example.com/a;A\nhttps://example.com/b;B\n');
    const result = await stubbed(service);
    expect(result).toMatchObject({ exitCode: 3, outputs: { created: '1', failed: '1' } });
    expect(result.log).toMatch(/^::error file=links\.csv,line=3::.*allowed, 100%25\./m);
    expect(result.log.match(/^::error/gm)).toHaveLength(1);
    expect(await host.show()).toMatch(/^https:\/\/example\.com\/a;A;c1;/m);
  });

  it('creates nothing on a detached HEAD, and says what to do', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const folder = await host.checkout();
    await host.git(folder, 'checkout', '--quiet', '--detach');
    const result = await run({ key, folder });
    expect(result.exitCode).toBe(1);
    expect(result.log).toMatch(
      /^::error file=links\.csv::No link was created.*HEAD is on no branch/m,
    );
    expect(result.log).not.toMatch(/^ +at /m);
    expect(result.summary).toContain('not kept');
    expect(await linkCount(key)).toBe(0);
  });

  it.each([
    ['no ref can be written', 'refs/'],
    ['the ref of the journal can not be written', 'refs/shortlink/'],
  ])('creates nothing where %s', async (_, prefix) => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    await host.protect(prefix);
    const result = await run({ key });
    expect(result.exitCode).toBe(1);
    expect(result.log).toMatch(/^::error file=links\.csv::No link was created.*can't be pushed/m);
    expect(await linkCount(key)).toBe(0);
  });

  it('creates nothing with a remote that takes no push, or for an ignored file', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const folder = await host.checkout();
    await host.git(folder, 'remote', 'set-url', '--push', 'origin', '/nonexistent');
    const result = await run({ key, folder });
    expect(result.exitCode).toBe(1);
    expect(result.log).toContain('permissions: contents: write');
    const other = await host.checkout();
    await writeFile(join(other, '.gitignore'), '*.short.csv\n');
    const ignored = await run({ key, folder: other, inputs: { output: 'links.short.csv' } });
    expect(ignored.exitCode).toBe(1);
    expect(ignored.log).toContain('.gitignore');
    expect(await linkCount(key)).toBe(0);
  });

  it('creates nothing where git would not see that the file was filled in', async () => {
    const { key } = await world.caller('custom');
    await mkdir(join(host.work, 'data'));
    await writeFile(join(host.work, 'data/links.csv'), SAMPLE);
    await symlink('data/links.csv', join(host.work, 'links.csv'));
    await host.push((text) => text);
    const result = await run({ key });
    expect(result.exitCode).toBe(1);
    expect(result.log).toMatch(/^::error file=links\.csv::No link.*links\.csv is a symbolic link/m);
    expect((await run({ key, inputs: { mode: 'plan' } })).outputs).toMatchObject({ new: '3' });
    expect(await linkCount(key)).toBe(0);
    const real = { file: 'data/links.csv' };
    expect(await run({ key, inputs: real })).toMatchObject({ exitCode: 0 });
    expect([...(await host.links('data/links.csv')).values()]).toEqual(URLS(3));
  });

  it('pushes a new file of links where git lists no new files', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const folder = await host.checkout();
    await host.git(folder, 'config', 'status.showUntrackedFiles', 'no');
    const result = await run({ key, folder, inputs: { output: 'links.short.csv' } });
    expect(result, result.log).toMatchObject({ exitCode: 0, outputs: { created: '3' } });
    expect([...(await host.links('links.short.csv')).values()]).toEqual(URLS(3));
  });

  it('says that there is no repository', async () => {
    const { key } = await world.caller('custom');
    const folder = join(host.folder, 'no repository');
    await mkdir(folder);
    await writeFile(join(folder, 'links.csv'), SAMPLE);
    const env = { GIT_CEILING_DIRECTORIES: host.folder };
    const result = await run({ key, folder, env });
    expect(result.exitCode).toBe(1);
    expect(result.log).toMatch(/^fatal: not a git repository/m);
    expect(result.log).toMatch(/^::error file=links\.csv::No link.*git finds no repository/m);
    expect(await linkCount(key)).toBe(0);
  });

  it('runs its script in the shell that git brings on Windows', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const preload = join(host.folder, 'windows.mjs');
    await writeFile(
      preload,
      `if (process.argv[1]?.endsWith('action/main.mjs')) {
  Object.defineProperty(process, 'platform', { value: 'win32' });
}
`,
    );
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(preload)}` };
    const result = await run({ key, env, inputs: { options: '--add-tag=from ci' } });
    expect(result, result.log).toMatchObject({ exitCode: 0, outputs: { created: '3' } });
    expect([...(await host.links()).values()]).toEqual(URLS(3));
  });

  it('takes a file whose name begins with a hyphen', async () => {
    const { key } = await world.caller('custom');
    await writeFile(join(host.work, '-links.csv'), SAMPLE);
    await host.push((text) => text);
    const result = await run({ key, inputs: { file: '-links.csv' } });
    expect(result, result.log).toMatchObject({ exitCode: 0, outputs: { created: '3' } });
    expect([...(await host.links('-links.csv')).values()]).toEqual(URLS(3));
  });

  it('takes a file below so many folders that their names are longer than that of a file may be', async () => {
    const { key } = await world.caller('custom');
    const folders = Array.from({ length: 9 }, (_, n) => `a-folder-with-a-long-name-${n}`);
    const file = `${folders.join('/')}/links.csv`;
    await mkdir(join(host.work, ...folders), { recursive: true });
    await writeFile(join(host.work, file), SAMPLE);
    await host.push((text) => text);
    const result = await run({ key, inputs: { file } });
    expect(result, result.log).toMatchObject({ exitCode: 0, outputs: { created: '3' } });
    expect([...(await host.links(file)).values()]).toEqual(URLS(3));
  });

  it('does not say that all is there where --limit leaves rows', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const first = await run({ key, inputs: { options: '--limit=1' } });
    expect(first, first.log).toMatchObject({
      exitCode: 0,
      outputs: { created: '1', unsent: '2' },
    });
    expect(first.summary).not.toContain('all there');
    expect(first.summary).toContain('2 unsent');
  });

  it('loses nothing and doubles nothing behind a protected branch, with a service that can not be asked', async () => {
    const service = await stubService();
    await host.push(() => SAMPLE);
    const unprotect = await host.protect('refs/heads/main');
    const first = await stubbed(service);
    expect(first.exitCode).toBe(1);
    expect(first.summary).toContain('not kept');
    expect(first.summary).not.toContain('all there');
    expect(shown(first.summary)).toContain('`https://sho.rt/c1` for `https://example.com/spring`');
    expect(first.log).toMatch(/^::error file=links\.csv::links\.csv couldn't be pushed to main/m);
    const folder = first.outputs['folder'] ?? '';
    expect(await readFile(join(folder, 'links.csv'), 'utf8')).toContain('https://sho.rt/c3');
    expect(await readdir(folder)).toContain('summary-1.json');
    expect(service.created).toHaveLength(3);
    const [kept] = (await host.refs()).filter((ref) => ref.startsWith('refs/shortlink/main-'));
    expect(first.log).toContain(String(kept));

    const second = await stubbed(service);
    expect(second).toMatchObject({ exitCode: 1, outputs: { created: '0', existing: '3' } });
    // A plan knows them too.
    const proposal = await host.checkout();
    await host.git(proposal, 'checkout', '--quiet', '--detach');
    const env = { GITHUB_EVENT_NAME: 'pull_request', GITHUB_BASE_REF: 'main' };
    expect((await stubbed(service, { folder: proposal, env })).outputs).toMatchObject({ new: '0' });
    // A run that is stopped by a bad row fills nothing in, and must not forget the links.
    await unprotect();
    await host.push((text) => `${text}nowhere,Bad,\n`);
    expect(await stubbed(service)).toMatchObject({ exitCode: 2 });
    expect(await host.refs()).toContain(kept);
    await host.push((text) => text.replace('nowhere', 'https://example.com/new'));
    expect(await stubbed(service)).toMatchObject({ exitCode: 0, outputs: { created: '1' } });
    expect(service.created).toHaveLength(4);
    expect([...(await host.links()).values()]).toEqual(URLS(4));
    expect(await host.refs()).toEqual(['refs/heads/main']);
  });

  /** A clone that stays, of whose job only the journal in it knows the links: nothing could be pushed any more. */
  async function cloneWithJournal(service: StubService): Promise<string> {
    service.answer(BATCH, { status: 503, afterMs: 2_000, headers: { 'Retry-After': '0' } });
    const folder = await host.checkout();
    const job = stubbed(service, { folder });
    await expect.poll(() => service.requests.length).toBeGreaterThan(1);
    const unprotect = await host.protect('refs/');
    const result = await job;
    expect(result).toMatchObject({ exitCode: 1, outputs: { created: '3' } });
    expect(result.log).toContain('Keep the file');
    await unprotect();
    return folder;
  }

  it.each(isNight ? ['', 'short-links'] : ['short-links'])(
    'pushes what a job before it could push nowhere, branch %j',
    async (branch) => {
      await using github = await fakeGitHub();
      const service = await stubService();
      await host.push(() => SAMPLE);
      const folder = await cloneWithJournal(service);
      await host.push((text) => text);
      const env = { GITHUB_API_URL: github.url, GITHUB_REPOSITORY: 'me/site' };
      const next = await stubbed(service, { folder, env, inputs: { branch } });
      expect(next, next.log).toMatchObject({ exitCode: 0, outputs: { created: '0' } });
      const links = await host.links('links.csv', branch || 'main');
      expect([...links.values()]).toEqual([1, 2, 3].map((n) => `https://sho.rt/c${n}`));
      expect(service.created).toHaveLength(3);
    },
  );

  it('never replaces what another clone has kept with the journal of one that stays', async () => {
    const service = await stubService();
    await host.push(() => SAMPLE);
    const folder = await cloneWithJournal(service);
    await host.git(folder, 'checkout', '--quiet', '--', 'links.csv');
    await host.push((text) => `${text}https://example.com/other,Other,\n`);
    const unprotect = await host.protect('refs/heads/main');
    expect(await stubbed(service)).toMatchObject({ exitCode: 1, outputs: { created: '4' } });
    await unprotect();
    await host.push((text) => `${text}https://example.com/new,New,\n`);
    const last = await stubbed(service, { folder });
    expect(last, last.log).toMatchObject({ exitCode: 0, outputs: { created: '1', existing: '4' } });
    const links = [4, 5, 6, 7, 8].map((n) => `https://sho.rt/c${n}`);
    expect([...(await host.links()).values()]).toEqual(links);
    expect(await host.refs()).toEqual(['refs/heads/main']);
  });

  it.runIf(isNight)('names the links that only the journal of a clone knows', async () => {
    const service = await stubService();
    await host.push(() => SAMPLE);
    const folder = await cloneWithJournal(service);
    await host.git(folder, 'checkout', '--quiet', '--', 'links.csv');
    const other = 'https://example.com/other,Other,\n';
    await host.push(() => `url,title,tags\n${other}`);
    const unprotect = await host.protect('refs/heads/main');
    expect(await stubbed(service)).toMatchObject({ exitCode: 1, outputs: { created: '1' } });
    await unprotect();
    await host.push(() => SAMPLE + other);
    const stopped = await stubbed(service, { folder });
    expect(stopped.exitCode).toBe(2);
    expect(stopped.log).toMatch(/^::error.*https:\/\/sho\.rt\/c1/m);
    const inputs = { options: '--on-similar=reuse' };
    const last = await stubbed(service, { folder, inputs });
    expect(last, last.log).toMatchObject({ exitCode: 0, outputs: { created: '0', existing: '4' } });
    expect([...(await host.links()).values()]).toEqual(
      [1, 2, 3, 4].map((n) => `https://sho.rt/c${n}`),
    );
  });

  it('keeps what a job created whose own commit is refused', async () => {
    const service = await stubService();
    await host.push(() => SAMPLE);
    const folder = await host.checkout();
    await mkdir(join(folder, '.git/hooks'), { recursive: true });
    await writeFile(join(folder, '.git/hooks/pre-commit'), '#!/bin/sh\nexit 1\n');
    await chmod(join(folder, '.git/hooks/pre-commit'), 0o755);
    expect(await stubbed(service, { folder })).toMatchObject({ exitCode: 1 });
    expect(await stubbed(service)).toMatchObject({ exitCode: 0, outputs: { created: '0' } });
    expect(service.created).toHaveLength(3);
  });

  it('takes in what somebody pushed before and while it was running, and leaves the work of earlier steps alone', async () => {
    const service = await stubService();
    service.answer(BATCH, { status: 503, afterMs: 3_000, headers: { 'Retry-After': '0' } });
    await writeFile(join(host.work, 'version.txt'), '1\n');
    await host.push(() => SAMPLE);
    const folder = await host.checkout();
    await host.push((text) => `${text}https://example.com/before,Before,\n`);
    await writeFile(join(folder, 'version.txt'), 'built by an earlier step\n');
    const job = stubbed(service, { folder });
    await expect.poll(() => service.requests.length).toBeGreaterThan(1);
    await host.push((text) => `${text}https://example.com/meanwhile,Meanwhile,\n`);
    const result = await job;
    expect(result, result.log).toMatchObject({
      exitCode: 0,
      outputs: { rows: '5', created: '5', new: '5', existing: '0' },
    });
    expect(service.created).toHaveLength(5);
    expect([...(await host.links()).values()]).toEqual(URLS(5));
    expect(await readFile(join(folder, 'version.txt'), 'utf8')).toContain('an earlier step');
    expect(await host.show('version.txt')).toBe('1\n');
    expect(await host.refs()).toEqual(['refs/heads/main']);
  });

  it('pushes its file beside many jobs with files of their own, and reads it once', async () => {
    const service = await stubService();
    await host.push(() => SAMPLE);
    const folder = await host.checkout();
    // Others are faster seven times.
    await mkdir(join(host.folder, 'origin.git/hooks'), { recursive: true });
    await writeFile(
      join(host.folder, 'origin.git/hooks/update'),
      `#!/bin/sh
[ "$1" = refs/heads/main ] && echo >> pushed && [ $(wc -l < pushed) -le 7 ] || exit 0
git update-ref "$1" $(git commit-tree -p "$1" -m other "$1^{tree}")
`,
      { mode: 0o755 },
    );
    const result = await stubbed(service, { folder });
    expect(result, result.log).toMatchObject({ exitCode: 0, outputs: { created: '3', new: '3' } });
    expect([...(await host.links()).values()]).toEqual(URLS(3));
    const files = await readdir(result.outputs['folder'] ?? '');
    expect(files.filter((name) => name.startsWith('summary-'))).toEqual(['summary-1.json']);
    expect(await host.refs()).toEqual(['refs/heads/main']);
  });

  it('takes in what somebody pushed just before it tried whether it may push', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const programs = join(host.folder, 'programs');
    await mkdir(programs);
    const git = (await runCommand('which', ['git'], { cwd: host.folder })).trim();
    await writeFile(
      join(programs, 'git'),
      `#!/bin/sh
case " $* " in *' --dry-run '*) [ -e '${programs}/pushed' ] || {
  touch '${programs}/pushed'
  ${git} -C '${host.work}' commit --quiet --allow-empty -m other
  ${git} -C '${host.work}' push --quiet origin HEAD:main
} ;; esac
exec ${git} "$@"
`,
      { mode: 0o755 },
    );
    const env = { PATH: `${programs}:${process.env['PATH']}` };
    const result = await run({ key, env });
    expect(result, result.log).toMatchObject({ exitCode: 0, outputs: { created: '3' } });
    expect(await readdir(programs)).toContain('pushed');
    expect([...(await host.links()).values()]).toEqual(URLS(3));
  });

  it('keeps the links where it can not take in what somebody pushed', async () => {
    const service = await stubService();
    service.answer(BATCH, { status: 503, afterMs: 3_000, headers: { 'Retry-After': '0' } });
    await writeFile(join(host.work, 'version.txt'), '1\n');
    await host.push(() => SAMPLE);
    const folder = await host.checkout();
    await writeFile(join(folder, 'version.txt'), 'built by an earlier step\n');
    const job = stubbed(service, { folder });
    await expect.poll(() => service.requests.length).toBeGreaterThan(1);
    await host.push((text) => {
      writeFileSync(join(host.work, 'version.txt'), '2\n');
      return text;
    });
    expect(await job).toMatchObject({ exitCode: 1 });
    expect(await readFile(join(folder, 'version.txt'), 'utf8')).toContain('an earlier step');
    expect(await stubbed(service)).toMatchObject({ exitCode: 0, outputs: { created: '0' } });
    expect(service.created).toHaveLength(3);
  });

  it('keeps the links where an earlier step has made the file that somebody pushed', async () => {
    const service = await stubService();
    service.answer(BATCH, { status: 503, afterMs: 3_000, headers: { 'Retry-After': '0' } });
    await host.push(() => SAMPLE);
    const made = async () => {
      const folder = await host.checkout();
      await appendFile(join(folder, 'links.csv'), `https://example.com/made,Made,\n`);
      return folder;
    };
    const folder = await made();
    const job = stubbed(service, { folder });
    await expect.poll(() => service.requests.length).toBeGreaterThan(1);
    await host.push((text) => text.replace('Spring', 'Early spring'));
    expect(await job).toMatchObject({ exitCode: 1, outputs: { created: '4' } });
    const next = await stubbed(service, { folder: await made() });
    expect(next).toMatchObject({ exitCode: 0, outputs: { created: '0', existing: '4' } });
    expect(service.created).toHaveLength(4);
  });

  it('keeps what was created before the plan was full', async () => {
    const { key } = await world.caller('custom', { links: 2 });
    await host.push(() => SAMPLE);
    const result = await run({ key });
    expect(result).toMatchObject({ exitCode: 5, outputs: { created: '2', unsent: '1' } });
    expect(result.log).toMatch(/^::error file=links\.csv::The plan's limit is reached/m);
    expect(shown(result.summary)).toContain('room for 2 in the custom plan, 1 unsent');
    expect([...(await host.links()).values()].filter((url) => url !== '')).toHaveLength(2);
  });

  it('ends what is in flight and keeps it where the job is cancelled', async () => {
    const service = await stubService();
    service.answer('GET /api/v1/usage', { status: 404 });
    await host.push(() => SAMPLE);
    const body = {
      status: 'completed',
      total: 3,
      results: [1, 2, 3].map((n) => ({ code: `k${n}`, short_url: `https://sho.rt/k${n}` })),
    };
    service.answer(BATCH, { status: 200, afterMs: 3_000, body });
    let signal = () => {};
    const job = stubbed(service, {
      onStart: (child) => {
        signal = () => child.kill('SIGTERM');
      },
    });
    await expect.poll(() => service.requests.length).toBeGreaterThan(1);
    signal();
    const result = await job;
    expect(result.log).toContain('Stopping');
    expect([...(await host.links()).values()]).toEqual(URLS(3));
  });

  it('opens a pull request with what was filled in, and updates it', async () => {
    await using github = await fakeGitHub();
    const service = await stubService();
    const env = { GITHUB_API_URL: github.url, GITHUB_REPOSITORY: 'me/site' };
    const inputs = { branch: 'short-links' };
    await host.push(() => SAMPLE);
    await host.protect('refs/heads/main');
    const first = await stubbed(service, { env, inputs });
    expect(first, first.log).toMatchObject({
      exitCode: 0,
      outputs: { 'pull-request': 'https://github.example/pull/1' },
    });
    expect(github.pulls).toMatchObject([{ head: 'short-links', base: 'main' }]);
    // Its checks are to run.
    const origin = join(host.folder, 'origin.git');
    expect(await host.git(origin, 'log', '-1', '--format=%s', 'short-links')).not.toContain('skip');
    expect([...(await host.links('links.csv', 'short-links')).values()]).toEqual(URLS(3));
    expect(await host.show()).toBe(SAMPLE);

    // Before it is merged, main goes on.
    const unprotect = await host.protect('refs/heads/nothing');
    await host.push((text) => `${text}https://example.com/new,New,\n`);
    expect(await stubbed(service, { env, inputs })).toMatchObject({
      exitCode: 0,
      outputs: { created: '1' },
    });
    expect(github.pulls).toHaveLength(1);
    expect(service.created).toHaveLength(4);
    await unprotect();
    await host.git(origin, 'branch', '--force', 'main', 'short-links');
    expect(await stubbed(service, { env, inputs })).toMatchObject({
      exitCode: 0,
      outputs: { created: '0' },
    });
    expect(await host.refs()).toEqual(['refs/heads/main', 'refs/heads/short-links']);
    expect(service.created).toHaveLength(4);

    github.isReadOnly = true;
    await host.push((text) => `${text}https://example.com/newer,Newer,,,,,\n`);
    const refused = await stubbed(service, { env, inputs });
    expect(refused.exitCode).toBe(1);
    expect(refused.log).toMatch(
      /^::error ::The short links are in the branch short-links.*permissions: pull-requests: write/m,
    );
    // The next run opens it, although nothing is new. GitHub has a fault first.
    github.isReadOnly = false;
    github.pulls.length = 0;
    github.faults.push({ status: 502, body: '<html>Bad gateway</html>' });
    expect(await stubbed(service, { env, inputs })).toMatchObject({ exitCode: 0 });
    expect(github.pulls).toHaveLength(1);
    const errors = [{ message: 'No commits between main and short-links' }];
    const body = JSON.stringify({ message: 'Validation Failed', errors });
    github.faults.push({ status: 422, body });
    const invalid = await stubbed(service, { env, inputs });
    expect(invalid.exitCode).toBe(1);
    expect(invalid.log).toMatch(/^::error .*\(422 Validation Failed: No commits between/m);
    expect(invalid.log).not.toContain('permissions');
  });

  it('leaves the file of people alone with an output of its own, so that open branches never conflict', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    await host.git(host.work, 'checkout', '--quiet', '-b', 'topic');
    await appendFile(join(host.work, 'links.csv'), 'https://example.com/topic,Topic,\n');
    await host.commit('Add a row');
    const inputs = { output: 'links.short.csv' };
    expect(await run({ key, inputs })).toMatchObject({ exitCode: 0, outputs: { created: '3' } });
    expect(await host.show()).toBe(SAMPLE);
    expect([...(await host.links('links.short.csv')).values()]).toEqual(URLS(3));
    await host.git(host.work, 'pull', '--quiet', '--rebase', 'origin', 'main');
    await host.git(host.work, 'push', '--quiet', 'origin', 'HEAD:main');
    expect(await run({ key, inputs })).toMatchObject({ exitCode: 0, outputs: { created: '1' } });
    expect((await host.links('links.short.csv')).size).toBe(4);
    expect(await run({ key, inputs })).toMatchObject({ exitCode: 0, outputs: { created: '0' } });
    expect(await linkCount(key)).toBe(4);
  });

  it('takes options, and leaves the file to others where it is not to commit it', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => 'Long URL,Old\nhttps://example.com/a,https://example.com/b\n');
    const folder = await host.checkout();
    const options = '\n  --map=target_url=Long URL\n\n  --add-tag=from ci\n';
    const result = await run({
      key,
      folder,
      inputs: { commit: 'false', options },
    });
    expect(result, result.log).toMatchObject({ exitCode: 0, outputs: { created: '1' } });
    expect(await readFile(join(folder, 'links.csv'), 'utf8')).toMatch(
      /^https:\/\/example\.com\/a,.*,http.*,created,/m,
    );
    expect(await host.git(folder, 'log', '--format=%s')).not.toContain('Fill in');
  });

  it('says that an import was killed, which may have created links', async () => {
    await host.push(() => SAMPLE);
    const program = join(host.folder, 'killed.mjs');
    await writeFile(program, "process.kill(process.pid, 'SIGKILL');\n");
    const result = await run({ key: 'sl_key', env: { SHORTLINK_PROGRAM: program } });
    expect(result.exitCode).toBe(137);
    expect(result.log).toMatch(/^::error file=links\.csv::The import was killed/m);
    expect(result.summary).not.toContain('could not begin');
  });

  it('takes address and key from the variables of the job, where it has no inputs for them', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const env = { SHORTLINK_API_KEY: key, SHORTLINK_BASE_URL: world.server.url };
    const result = await run({ env, url: '' });
    expect(result, result.log).toMatchObject({ exitCode: 0, outputs: { created: '3' } });
    await host.push((text) => `${text}https://example.com/new,New,\n`);
    const wrong = { SHORTLINK_API_KEY: 'sl_wrong', SHORTLINK_BASE_URL: 'http://127.0.0.1:1' };
    expect(await run({ key, env: wrong })).toMatchObject({
      exitCode: 0,
      outputs: { created: '1' },
    });
  });

  it('says what is wrong before there is a link', async () => {
    await host.push(() => SAMPLE);
    const missing = await run({ key: 'sl_wrong', inputs: { file: 'missing.csv' } });
    expect(missing).toMatchObject({ exitCode: 2, outputs: { 'exit-code': '2', rows: '0' } });
    expect(missing.log).toMatch(/^::error file=missing\.csv::/m);
    expect(missing.summary).toContain('exit code 2');
    const denied = await run({ key: 'sl_wrong_key' });
    expect(denied.exitCode).toBe(4);
    expect(denied.log).toMatch(/^::error file=links\.csv::The server refused the API key/m);
    expect(denied.log + denied.summary).not.toContain('sl_wrong_key');
    const none = await run({ key: '' });
    expect(none.exitCode).toBe(4);
    expect(none.log).toMatch(/^::error file=links\.csv::The import could not begin/m);
    for (const inputs of [{ mode: 'paln' }, { file: '' }]) {
      const wrong = await run({ inputs });
      expect(wrong.exitCode).toBe(2);
      expect(wrong.log).toMatch(/^::error file=.*::(The mode is|No file is named)/m);
    }
  });
});

it('lets the runner take commands again after a hook that ends no line', async () => {
  const { key } = await world.caller('custom');
  await host.push(() => SAMPLE);
  const folder = await host.checkout();
  await mkdir(join(folder, '.git/hooks'), { recursive: true });
  const hook = join(folder, '.git/hooks/pre-push');
  await writeFile(hook, '#!/bin/sh\nprintf "checked"\n', { mode: 0o755 });
  const { log, exitCode } = await run({ key, folder });
  expect(exitCode, log).toBe(0);
  const [, token = ''] = /^::stop-commands::(\S+)$/m.exec(log) ?? [];
  expect(log).toMatch(/checked\n/);
  expect(log).toMatch(new RegExp(`^::${token}::$`, 'm'));
});

describe('plan', () => {
  /** What a runner sets for a pull request. */
  async function pullRequest(api = 'http://127.0.0.1:1') {
    const path = join(host.folder, 'event.json');
    await writeFile(path, JSON.stringify({ pull_request: { number: 7 } }));
    return {
      GITHUB_EVENT_NAME: 'pull_request',
      GITHUB_EVENT_PATH: path,
      GITHUB_REPOSITORY: 'me/site',
      GITHUB_API_URL: api,
    };
  }

  it('is what a pull request gets: rows, forecast and problems, and nothing is created or written', async () => {
    const { key } = await world.caller('custom', { links: 5 });
    await host.push(() => SAMPLE);
    await run({ key });
    await host.push((text) => {
      const edited = text.replace('Spring campaign', 'Edited').replace('/summer', '/moved');
      return `${edited}https://example.com/new,New,,,,,\n\`nope\`|<b>@team,Bad,,,,,\n`;
    });
    const folder = await host.checkout();
    await host.git(folder, 'checkout', '--quiet', '--detach');
    const env = await pullRequest();
    const result = await run({ key, folder, env });
    expect(result, result.log).toMatchObject({
      exitCode: 3,
      outputs: { rows: '5', new: '2', existing: '2', changed: '1', rejected: '1', created: '0' },
    });
    expect(result.log).toMatch(/^::error file=links\.csv,line=6::/m);
    const page = shown(result.summary);
    expect(page).toMatch(/\| 2 \| changed \| `http\S+` stays \|/);
    expect(page).toContain('| 3 | new | `https://example.com/moved` |');
    expect(page).toContain('| 5 | new | `https://example.com/new` |');
    expect(page).toContain('Forecast: links: 2, requests: 1, room for 2 in the custom plan');
    expect(page).toContain('the old one still leads to the old target (line ');
    expect(result.summary).not.toMatch(/@team|<b>/);
    expect(await host.git(folder, 'status', '--porcelain')).toBe('');
    expect(await linkCount(key)).toBe(3);
  });

  it('is what a merge queue gets, whose branch is thrown away', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const env = { GITHUB_EVENT_NAME: 'merge_group' };
    expect(await run({ key, env })).toMatchObject({
      exitCode: 0,
      outputs: { new: '3', created: '0' },
    });
  });

  it('of a fork has no key, and says what it could not know', async () => {
    await using github = await fakeGitHub();
    github.isReadOnly = true;
    await host.push(() => `${SAMPLE}nope,Bad,\n`);
    const env = await pullRequest(github.url);
    const result = await run({ env, url: '', inputs: { comment: 'true' } });
    expect(result).toMatchObject({ exitCode: 3, outputs: { new: '3', rejected: '1' } });
    expect(result.log).toMatch(/^::error file=links\.csv,line=5::/m);
    expect(result.log).toMatch(/^::notice file=links\.csv::The plan is on the page/m);
    expect(shown(result.summary)).toContain('The service was not asked');
    expect(github.comments).toEqual([]);
  });

  it('is one comment, which the next plan updates', async () => {
    await using github = await fakeGitHub();
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    github.comments.push({ id: 1, body: 'A comment of a person', ...STRANGER });
    const env = await pullRequest(github.url);
    const inputs = { comment: 'true' };
    expect(await run({ key, env, inputs })).toMatchObject({ exitCode: 0 });
    await host.push((text) => `${text}https://example.com/new,New,\n`);
    expect(await run({ key, env, inputs })).toMatchObject({ exitCode: 0 });
    expect(github.comments).toHaveLength(2);
    expect(github.comments[1]?.body).toContain('4 to create');
  });

  it('is one comment among hundreds, some of which are hidden', async () => {
    await using github = await fakeGitHub();
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    for (let id = 1; id <= 200; id += 1) {
      github.comments.push({
        id,
        body: 'Hi',
        ...STRANGER,
        ...(id % 9 === 0 && { isHidden: true }),
      });
    }
    const job = { key, inputs: { comment: 'true' }, env: await pullRequest(github.url) };
    expect(await run(job)).toMatchObject({ exitCode: 0 });
    expect(await run(job)).toMatchObject({ exitCode: 0 });
    expect(github.comments).toHaveLength(201);
    expect(github.comments[200]?.body).toContain('3 to create');
  });

  it('is never written into the comment of a stranger, who could change it afterwards', async () => {
    await using github = await fakeGitHub();
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const body = '<!-- shortlink plan of links.csv -->\nNothing to see';
    github.comments.push({ id: 1, body, ...STRANGER });
    const job = { key, inputs: { comment: 'true' }, env: await pullRequest(github.url) };
    expect(await run(job)).toMatchObject({ exitCode: 0 });
    expect(await run(job)).toMatchObject({ exitCode: 0 });
    expect(github.comments).toHaveLength(2);
    expect(github.comments[0]?.body).toBe(body);
    // A token of a person who works on the repository.
    github.comments.pop();
    github.comments.push({ id: 2, body, ...STRANGER, author_association: 'MEMBER' });
    expect(await run(job)).toMatchObject({ exitCode: 0 });
    expect(github.comments).toHaveLength(2);
    expect(github.comments[1]?.body).toContain('3 to create');
  });

  /** A page of a load balancer, which is no JSON. */
  const FAULT = { status: 502, body: '<html>Bad gateway</html>' };

  it('is a comment once GitHub is well again, and says what GitHub said where it is not', async () => {
    await using github = await fakeGitHub();
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const job = { key, inputs: { comment: 'true' }, env: await pullRequest(github.url) };
    github.faults.push(FAULT);
    const first = await run(job);
    expect(first.log).not.toMatch(/^::notice/m);
    expect(github.comments).toHaveLength(1);
    github.faults.push(FAULT, FAULT, FAULT);
    const away = await run(job);
    expect(away).toMatchObject({ exitCode: 0, outputs: { new: '3' } });
    expect(away.log).toMatch(/^::notice file=links\.csv::The plan is on the page.*\(502 /m);
    const headers = { 'Retry-After': '60' };
    const body = JSON.stringify({ message: 'You have exceeded a secondary rate limit' });
    github.faults.push({ status: 403, body, headers });
    const limited = await run(job);
    expect(limited.log).toMatch(/^::notice .*\(403 You have exceeded a secondary rate limit\)/m);
    expect(away.log + limited.log).not.toContain('permissions');
    expect(github.comments).toHaveLength(1);
  });

  it('ends at once where the job is cancelled while GitHub does not respond', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    let cancel = () => {};
    const github = createServer(() => cancel());
    await new Promise<void>((resolve) => {
      github.listen(0, '127.0.0.1', resolve);
    });
    const env = await pullRequest(`http://127.0.0.1:${(github.address() as AddressInfo).port}`);
    const result = await run({
      ...{ key, env, inputs: { comment: 'true' } },
      onStart: (child) => {
        cancel = () => child.kill('SIGTERM');
      },
    });
    github.closeAllConnections();
    github.close();
    expect(result).toMatchObject({ exitCode: null, outputs: { new: '3' } });
    expect(result.log).not.toContain('ESRCH');
  });

  it('is no comment in a merge queue, which has no pull request', async () => {
    await using github = await fakeGitHub();
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const env = { ...(await pullRequest(github.url)), GITHUB_EVENT_NAME: 'merge_group' };
    await writeFile(env.GITHUB_EVENT_PATH, JSON.stringify({ merge_group: { base_ref: 'main' } }));
    const result = await run({ key, env, inputs: { comment: 'true' } });
    expect(result).toMatchObject({ exitCode: 0, outputs: { new: '3' } });
    expect(result.log).not.toMatch(/^::notice/m);
  });

  it('is a comment also behind a proxy', async () => {
    await using github = await fakeGitHub();
    const proxy = createServer().on('connect', (_, socket) => {
      const { hostname, port } = new URL(github.url);
      const other = connect(Number(port), hostname, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        other.pipe(socket).pipe(other);
      });
      socket.on('close', () => other.destroy());
    });
    await new Promise<void>((resolve) => {
      proxy.listen(0, '127.0.0.1', resolve);
    });
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const env = await pullRequest('http://github.invalid');
    const result = await run({
      ...{ key, inputs: { comment: 'true' } },
      env: { ...env, HTTP_PROXY: address, NO_PROXY: '127.0.0.1' },
    });
    proxy.closeAllConnections();
    proxy.close();
    expect(result.log).not.toMatch(/^::notice/m);
    expect(github.comments).toHaveLength(1);
  });

  it('is no longer than a comment may be, however long the targets are', async () => {
    await using github = await fakeGitHub();
    const query = 'utm_source=a&utm_medium=b_c&'.repeat(60);
    const rows = Array.from({ length: 60 }, (_, n) => `https://example.com/${n}?${query},T,\n`);
    await host.push(() => `target_url,title,tags\n${rows.join('')}`);
    const env = await pullRequest(github.url);
    const { key } = await world.caller('custom');
    const result = await run({ key, env, inputs: { comment: 'true' } });
    expect(result.outputs).toMatchObject({ new: '60' });
    expect(github.comments[0]?.body.length).toBeLessThan(65_536);
    expect(github.comments[0]?.body).toMatch(/\d+ more rows are in the summary/);
  });

  it('does not count the rows that no list names', async () => {
    const rows = (count: number) =>
      Array.from({ length: count }, (_, n) => `https://a.example/${n}`);
    await host.push(() => `${['url', ...rows(1_050)].join('\n')}\n`);
    const long = await run({ url: '', inputs: { mode: 'plan' } });
    expect(long.summary).toContain('1050 to create');
    expect(long.summary).toContain(
      'At least 950 more rows. The summary of the output "folder" names',
    );
    await host.push(() => `${['url', ...rows(60)].join('\n')}\n`);
    const short = await run({ url: '', inputs: { mode: 'plan' } });
    expect(short.summary).toContain('\n10 more rows are in the summary of the output "folder".');
  });

  it('finds drift with expect-no-changes', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => SAMPLE);
    const inputs = { mode: 'plan', 'expect-no-changes': 'true' };
    const drift = await run({ key, inputs });
    expect(drift).toMatchObject({ exitCode: 8, outputs: { new: '3', created: '0' } });
    expect(drift.summary).toContain('exit code 8');
    expect(drift.log).toMatch(/^::error file=links\.csv::No new row was expected.*: 3\.$/m);
    await run({ key });
    expect(await run({ key, inputs })).toMatchObject({ exitCode: 0 });
  });

  it('takes no commands for the runner from a file', async () => {
    await host.push(() => '::error::forged\n::add-mask::x\n');
    const { log } = await run({ inputs: { mode: 'plan' } });
    const [, token = ''] = /^::stop-commands::(\S+)$/m.exec(log) ?? [];
    const between = log.slice(log.indexOf(token), log.lastIndexOf(`::${token}::`));
    expect(token).not.toBe('');
    expect(
      log.replace(between, '').match(/^::(?!error file=|stop-commands|[\da-f-]+::$).*/gm),
    ).toBeNull();
  });
});
