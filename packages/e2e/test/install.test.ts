import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packPackages } from '../src/consumer.ts';
import { runCommand } from '../src/run-command.ts';
import { World } from '../src/world.ts';

const VERSION = /^\d+\.\d+\.\d+\n$/;
const QUIET = ['--no-audit', '--no-fund', '--prefer-offline'];

let folder: string;
/** The packed client and command. */
let tarballs: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shortlink-install-'));
  tarballs = await packPackages(folder, 'sdk', 'cli');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('npm install --global: the command is there, and imports', async () => {
  const prefix = join(folder, 'global');
  const install = ['install', '--global', '--prefix', prefix, ...QUIET, ...tarballs];
  await runCommand('npm', install, { cwd: folder });
  const shortlink = join(prefix, 'bin', 'shortlink');
  expect(await runCommand(shortlink, ['--version'], { cwd: folder })).toMatch(VERSION);

  await using world = await World.create();
  const { key } = await world.caller('custom');
  await writeFile(world.path('urls.txt'), 'https://example.com/1\nhttps://example.com/2\n');
  const env = {
    SHORTLINK_API_KEY: key,
    SHORTLINK_BASE_URL: world.server.url,
    XDG_CONFIG_HOME: world.path('config'),
    CI: '1',
  };
  const output = await runCommand(shortlink, ['import', 'urls.txt', '--json'], {
    cwd: world.folder,
    env,
  });
  expect(JSON.parse(output)).toMatchObject({ created: 2, exit_code: 0 });
  expect(await runCommand(shortlink, ['completion', 'bash'], { cwd: folder })).toContain(
    'complete',
  );
});

test('npx runs it without an installation', async () => {
  const packages = tarballs.flatMap((tarball) => ['--package', tarball]);
  const args = ['-y', '--prefer-offline', ...packages, 'shortlink', '--version'];
  expect(await runCommand('npx', args, { cwd: folder })).toMatch(VERSION);
});

test('the package holds the program, its licence, its README and its change log, and no test', async () => {
  const tarball = tarballs.find((file) => file.includes('cli')) ?? '';
  const files = (await runCommand('tar', ['-tzf', tarball], { cwd: folder })).trim().split('\n');
  expect(files).toEqual(
    expect.arrayContaining(['package/dist/main.js', 'package/LICENSE', 'package/README.md']),
  );
  const others = files.filter(
    (file) =>
      !/^package\/(dist\/[\w-]+\.js(\.map)?|LICENSE|CHANGELOG\.md|README\.md|package\.json)$/.test(
        file,
      ),
  );
  expect(others).toEqual([]);
});
