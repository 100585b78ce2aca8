import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { stubService } from '../../cli/test/stub-service.ts';
import { readPage } from '../src/documented-code.ts';
import { runGitLabJob, runShell, runWorkflow, type WorkflowRun } from '../src/fake-workflow.ts';
import { fakeGitHub, GitHost } from '../src/git-host.ts';
import { isNight } from '../src/is-night.ts';
import { CLI_VARIABLES } from '../src/programs.ts';
import { World } from '../src/world.ts';

/** What a newcomer has: the page about CI, and the files to copy that it links to. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PAGE = readPage('packages/docs/importing/ci.md');
const block = (name: string): string => {
  const [, text = ''] =
    new RegExp(`\`\`\`\\w+ \\[${name}\\]\\n(.*?)\n\`\`\``, 's').exec(PAGE) ?? [];
  expect(text, name).not.toBe('');
  return text;
};
const FILE = `${block('links.csv')}\n`;

let world: World;
let host: GitHost;
let count = 0;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  count += 1;
  host = await GitHost.create(world.path(`ci-${count}`));
});

async function used(key: string): Promise<number> {
  const { json } = await world.request(key, 'GET', '/api/v1/usage');
  return json.links.used;
}

/** A run of one of the two workflows of the page. */
function start(event: WorkflowRun['event'], key: string, more: Partial<WorkflowRun> = {}) {
  const values = {
    'secrets.SHORTLINK_API_KEY': key,
    'vars.SHORTLINK_BASE_URL': world.server.url,
    ...more.values,
  };
  const text = block(event === 'push' ? 'apply-links.yml' : 'plan-links.yml');
  const env = { ...CLI_VARIABLES, ...more.env };
  return runWorkflow(text, { event, host, action: ROOT, ...more, values, env });
}

describe('the page about CI', () => {
  it.each(['plan-links.yml', 'apply-links.yml', 'gitlab-ci.yml'])(
    'shows %s as it is to be copied',
    async (name) => {
      const file = await readFile(join(ROOT, 'examples/ci', name), 'utf8');
      expect(parse(block(name))).toEqual(parse(file));
    },
  );

  it('has every input and output of the action, with its default', async () => {
    const { inputs, outputs } = parse(await readFile(join(ROOT, 'action.yml'), 'utf8'));
    const rows = PAGE.match(/^\| `.*/gm) ?? [];
    for (const [name, { default: usual }] of Object.entries<{ default?: string }>(inputs)) {
      const row = rows.find((line) => line.startsWith(`| \`${name}\` |`)) ?? '';
      expect(row, name).not.toBe('');
      if (usual && !usual.includes('$')) expect(row).toContain(`| \`${usual}\` |`);
    }
    for (const name of Object.keys(outputs)) expect(rows.join(''), name).toContain(`\`${name}\``);
  });

  it('leads from the first push through a pull request, a bad row and an edited target', async () => {
    await using github = await fakeGitHub();
    const { key } = await world.caller('custom');
    const event = join(host.folder, 'event.json');
    await writeFile(event, JSON.stringify({ pull_request: { number: 1 } }));
    const env = {
      GITHUB_API_URL: github.url,
      GITHUB_REPOSITORY: 'me/site',
      GITHUB_EVENT_PATH: event,
    };

    await host.push(() => FILE);
    const first = await start('push', key);
    expect(first, first.log).toMatchObject({ exitCode: 0, outputs: { created: '2' } });
    expect(first.artifact).toEqual(expect.arrayContaining(['links.csv', 'summary-1.json']));
    const published = await host.links();

    // The rows of a pull request, of which one is bad.
    await host.push((text) => `${text}Blog,https://example.com/blog,,,,,\nBad,nope,,,,,\n`);
    const plan = await start('pull_request', key, { env });
    expect(plan).toMatchObject({ exitCode: 3, outputs: { new: '1', rejected: '1' } });
    expect(plan.log).toMatch(/^::error file=links\.csv,line=5::/m);
    expect(github.comments).toHaveLength(1);
    github.isReadOnly = true;
    const fork = await start('pull_request', '', {
      env,
      values: { 'vars.SHORTLINK_BASE_URL': '' },
    });
    github.isReadOnly = false;
    expect(fork).toMatchObject({ exitCode: 3, outputs: { new: '1', existing: '2' } });
    expect(await used(key)).toBe(2);

    // Merged all the same, it creates nothing; corrected, and with another target for a row, it does.
    const stopped = await start('push', key);
    expect(stopped).toMatchObject({ exitCode: 2, outputs: { created: '0' } });
    expect(stopped.artifact).toBeDefined();
    await host.push((text) =>
      text.replace('nope', 'https://example.com/good').replace('/pricing', '/prices'),
    );
    expect((await start('pull_request', key, { env })).outputs).toMatchObject({ new: '3' });
    expect(github.comments).toHaveLength(1);
    const last = await start('push', key);
    expect(last).toMatchObject({ exitCode: 0, outputs: { created: '3', existing: '1' } });
    expect(last.log).toContain(published.get('Pricing') ?? 'none');
    expect(await used(key)).toBe(5);
  });

  // The tests of the action lead through both.
  it.runIf(isNight)(
    'leads through a race and a protected branch, with semicolons between cells',
    async () => {
      const service = await stubService();
      const key = service.env['SHORTLINK_API_KEY'] ?? '';
      const values = { 'vars.SHORTLINK_BASE_URL': service.url };
      service.answer('POST /api/v1/links/batch', {
        status: 503,
        afterMs: 3_000,
        headers: { 'Retry-After': '0' },
      });
      await host.push(() => FILE.replaceAll(',', ';'));
      const race = start('push', key, { values });
      await expect.poll(() => service.requests.length).toBeGreaterThan(1);
      await host.push((text) => `${text}Blog;https://example.com/blog\n`);
      expect(await race).toMatchObject({ exitCode: 0, outputs: { created: '3', rows: '3' } });
      const filled = await host.show();
      expect(filled).toMatch(/^Blog;https:\/\/example\.com\/blog;c3;/m);

      await host.push((text) => `${text}News;https://example.com/news;;;;;\n`);
      const unprotect = await host.protect('refs/heads/main');
      const kept = await start('push', key, { values });
      expect(kept).toMatchObject({ exitCode: 1, outputs: { created: '1' } });
      expect(kept.artifact).toEqual(expect.arrayContaining(['links.csv', 'summary-1.json']));
      expect(kept.summary).toContain('c4');
      await unprotect();
      expect(await start('push', key, { values })).toMatchObject({
        exitCode: 0,
        outputs: { created: '0', existing: '4' },
      });
      expect(await host.show()).toMatch(/^News;https:\/\/example\.com\/news;c4;/m);
      expect(service.created).toHaveLength(4);
    },
  );

  it('finds the links of a commit that is lost', async () => {
    const { key } = await world.caller('custom');
    await host.push(() => FILE);
    expect(await start('push', key)).toMatchObject({ exitCode: 0, outputs: { created: '2' } });
    const published = await host.show();
    await host.git(join(host.folder, 'origin.git'), 'branch', '--force', 'main', 'main~1');
    expect(await host.show()).toBe(FILE);
    const next = await start('push', key);
    expect(next).toMatchObject({ exitCode: 0, outputs: { created: '0', existing: '2' } });
    expect(await host.show()).toBe(published);
    expect(await used(key)).toBe(2);
  });
});

describe.each(['gitlab', 'shell'] as const)('%s', (where) => {
  /** The variables of the project, and the job of the page or its command. */
  async function job(name: 'plan' | 'apply', env: Record<string, string>) {
    const variables = { ...CLI_VARIABLES, ...env };
    if (where === 'gitlab') {
      return runGitLabJob(block('gitlab-ci.yml'), `${name}-links`, { host, env: variables });
    }
    const command = PAGE.match(/^sh links\.sh .*/gm)?.find((line) => line.includes(name)) ?? '';
    const cwd = await host.checkout();
    return { ...(await runShell(command, cwd, { ...host.env, ...variables })), cwd };
  }

  /** The command of the page, once more in a clone that stays. */
  const again = (cwd: string, env: Record<string, string>) =>
    runShell('sh links.sh apply links.csv', cwd, {
      ...host.env,
      ...CLI_VARIABLES,
      LINKS_BASE: 'main',
      ...env,
    });

  /** The repository with the file, and the script beside it. */
  async function begin(text: string): Promise<void> {
    await cp(join(ROOT, 'examples/ci/links.sh'), join(host.work, 'links.sh'));
    await host.push(() => text);
  }

  it('plans without a key, applies, takes in what others pushed, and finds nothing the second time', async () => {
    const { key } = await world.caller('custom');
    await begin(FILE.replaceAll(',', ';'));
    const plan = await job('plan', {});
    expect(plan.exitCode, plan.log).toBe(0);
    expect(plan.log).toContain('2 links would be created');
    const env = { SHORTLINK_API_KEY: key, SHORTLINK_BASE_URL: world.server.url };
    const first = await job('apply', env);
    expect(first.exitCode, first.log).toBe(0);
    expect(await host.show()).toMatch(/^Docs;https:\/\/example\.com\/docs;\w+;http\S+;created;/m);
    const second = await job('apply', env);
    expect(second.log).toContain('Already imported');
    expect(await used(key)).toBe(2);
    expect(await host.refs()).toEqual(['refs/heads/main']);
    await host.push((text) => `${text}Bad;nope;;;;;\n`);
    const bad = await job('apply', env);
    expect(bad.exitCode).toBe(2);
    expect(bad.log).toContain('line 4: not an absolute');
    // The file that the log names is there for who reads it.
    const [, rejects = ''] = /It is in (\S+) with its\s+reason/.exec(bad.log) ?? [];
    expect(
      await readFile(join(bad.cwd, rejects), 'utf8').catch(() => readFile(rejects, 'utf8')),
    ).toContain('nope');
    if (where === 'gitlab') {
      const summary = await readFile(join(bad.cwd, 'short-links/summary-1.json'), 'utf8');
      expect(JSON.parse(summary).problems).toMatchObject([{ line: 4 }]);
    }
  });

  // Both run the same script. Each night they do it in a shell too.
  const itOnce = it.runIf(isNight || where === 'gitlab');

  itOnce(
    'loses and doubles nothing behind a protected branch, without a service that can be asked',
    async () => {
      const service = await stubService();
      await begin(FILE);
      const unprotect = await host.protect('refs/heads/main');
      const first = await job('apply', service.env);
      expect(first.exitCode).toBe(1);
      expect(first.log).toContain("links.csv couldn't be pushed to main.");
      // The same clone, and then a fresh one.
      expect((await again(first.cwd, service.env)).exitCode).toBe(1);
      await unprotect();
      await host.push((text) => text);
      expect((await again(first.cwd, service.env)).exitCode).toBe(0);
      expect((await job('apply', service.env)).exitCode).toBe(0);
      expect(await host.refs()).toEqual(['refs/heads/main']);
      expect(service.created).toHaveLength(2);
      expect((await host.show()).match(/https:\/\/sho\.rt\/c\d/g)).toHaveLength(2);
    },
  );

  itOnce('pushes to a branch, and lets the host open its merge request', async () => {
    const { key } = await world.caller('custom');
    await begin(FILE);
    await host.protect('refs/heads/main');
    await mkdir(join(host.folder, 'origin.git/hooks'), { recursive: true });
    await host.git(
      join(host.folder, 'origin.git'),
      'config',
      'receive.advertisePushOptions',
      'true',
    );
    await host.git(host.folder, 'config', '--global', 'push.pushOption', 'merge_request.create');
    const account = { SHORTLINK_API_KEY: key, SHORTLINK_BASE_URL: world.server.url };
    const { exitCode, log, cwd } = await job('apply', { ...account, LINKS_BRANCH: 'short-links' });
    expect(exitCode, log).toBe(0);
    expect(await host.show('links.csv', 'short-links')).toContain('created');
    expect(await host.show()).toBe(FILE);
    // Nothing keeps a clone that stays from taking in what becomes of it.
    expect(await host.git(cwd, 'status', '--porcelain', '--', 'links.csv')).toBe('');
    expect(await host.git(cwd, 'log', '-1', '--format=%s')).not.toContain('Fill in');
  });
});
