import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runAction } from '../src/fake-runner.ts';
import { runShell } from '../src/fake-workflow.ts';
import { GitHost } from '../src/git-host.ts';
import { runCommand } from '../src/run-command.ts';
import { World } from '../src/world.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

let world: World;
/** The repository of the action itself. */
let host: GitHost;
/** What the release workflow builds, with the list of what is in it. Each release here has the same program. */
let built: string;
beforeAll(async () => {
  world = await World.create();
  built = world.path('built');
  const build = ['packages/tools/src/build-action.ts', join(built, 'shortlink.mjs')];
  await runCommand(process.execPath, build, { cwd: ROOT });
  host = await GitHost.create(world.path('action'));
  for (const path of ['action.yml', 'packages/action', 'examples/ci', '.gitignore']) {
    await cp(join(ROOT, path), join(host.work, path), {
      recursive: true,
      filter: (name) => !/action\/shortlink\./.test(name),
    });
  }
  await host.push((text) => text);
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** The steps of the release workflow after the build, with a `gh` that does nothing. */
async function release(version: string): Promise<void> {
  const { jobs } = parse(await readFile(join(ROOT, '.github/workflows/release.yml'), 'utf8'));
  const steps: { run?: string }[] = jobs.github.steps;
  const runs = steps.flatMap(({ run = '' }) => run);
  const at = runs.findIndex((run) => run.includes('pnpm@12 build:action'));
  expect(at).toBeGreaterThan(-1);
  expect(runs[at + 2]).toContain('--verify-tag');
  const checkout = await host.checkout();
  await cp(built, join(checkout, 'packages/action'), { recursive: true });
  const { exitCode, log } = await runShell(runs[at + 1] ?? '', checkout, {
    ...host.env,
    VERSION: version,
  });
  expect(exitCode, log).toBe(0);
}

/** What `uses: …@tag` downloads. */
async function download(tag: string): Promise<string> {
  const folder = `used-${tag}-${Math.random()}`;
  const origin = `file://${host.folder}/origin.git`;
  await host.git(host.folder, 'clone', '--quiet', '--depth=1', '-b', tag, origin, folder);
  return join(host.folder, folder);
}

it('is a root that stands alone: the tags have the program, and v0 moves with each release', async () => {
  await release('0.2.0');
  const used = await download('v0');
  const { key } = await world.caller('custom');
  const site = await GitHost.create(world.path('site'));
  await site.push(() => 'url;title\nhttps://example.com/a;A\n');
  // No other Node, npm or npx is there.
  const programs = world.path('programs');
  await mkdir(programs);
  for (const name of ['node', 'npm', 'npx']) {
    await writeFile(join(programs, name), '#!/bin/sh\nexit 9\n');
    await chmod(join(programs, name), 0o755);
  }
  const inputs = { file: 'links.csv', 'api-key': key, 'base-url': world.server.url };
  const result = await runAction(used, inputs, {
    cwd: await site.checkout(),
    env: { ...site.env, PATH: `${programs}:${process.env['PATH']}` },
  });
  expect(result, result.log).toMatchObject({ exitCode: 0, outputs: { created: '1' } });
  expect(await site.show()).toMatch(/;created;/);

  const before = await host.git(host.folder, 'ls-remote', 'origin.git');
  await release('0.3.0');
  const after = await host.git(host.folder, 'ls-remote', 'origin.git');
  const commit = (refs: string, name: string) =>
    refs.match(new RegExp(`^(\\w+)\t${name}$`, 'm'))?.[1];
  expect(commit(after, 'refs/tags/v0.2.0')).toBe(commit(before, 'refs/tags/v0'));
  expect(commit(after, 'refs/tags/v0')).toBe(commit(after, 'refs/tags/v0.3.0'));
  expect(commit(after, 'refs/tags/v0')).not.toBe(commit(before, 'refs/tags/v0'));
  // The job is run again.
  await release('0.3.0');
  expect(await host.git(host.folder, 'ls-remote', 'origin.git')).toBe(after);
  // No branch has the program.
  const files = await host.git(join(host.folder, 'origin.git'), 'ls-tree', '-r', 'main');
  expect(files).not.toContain('shortlink.mjs');
});

it('has what the Marketplace asks for', async () => {
  const action = parse(await readFile(join(ROOT, 'action.yml'), 'utf8'));
  expect(action).toMatchObject({
    name: expect.stringMatching(/^.{3,50}$/),
    description: expect.stringMatching(/^.{20,125}$/),
    author: expect.any(String),
    branding: {
      icon: 'link',
      color: expect.stringMatching(/^(white|black|yellow|blue|green|orange|red|purple|gray-dark)$/),
    },
    runs: { using: 'node24' },
  });
  const files = await host.git(ROOT, 'ls-files', '*action.yml', '*action.yaml');
  expect(files.trim()).toBe('action.yml');
});
