import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeBlocks } from '../src/code-blocks.ts';
import { compiler } from '../src/compilers.ts';
import { packPackages } from '../src/consumer.ts';
import { readPage } from '../src/documented-code.ts';
import { isNight } from '../src/is-night.ts';
import { runCommand } from '../src/run-command.ts';

/** A project of somebody else, with Jest and the packed server. */
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shortlink-testing-'));
  const tarballs = await packPackages(folder, 'sdk', 'server');
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  await install('jest@30', '@types/node@24', `msw@${PLAIN}`, ...tarballs);
  await cp(fileURLToPath(new URL('../fixtures/testing', import.meta.url)), folder, {
    recursive: true,
  });
  for (const { file, language, code } of codeBlocks(readPage('packages/docs/sdk/testing.md'))) {
    if (file !== undefined && language === 'javascript') await writeFile(join(folder, file), code);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const install = (...names: string[]) =>
  runCommand('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...names], {
    cwd: folder,
  });

const node = (program: string, ...args: string[]) =>
  runCommand(fileURLToPath(import.meta.resolve(`${program}/bin/node`)), args, { cwd: folder });

const NODES = [
  ['Node.js 22', 'node22'],
  ['Node.js 24', 'node'],
] as const;
const JEST = 'node_modules/jest/bin/jest.js';

/** Jest prints what it found to standard error, and fails where it found no test. */
async function jest(program: string, files: string[], ...options: string[]): Promise<void> {
  const config = {
    rootDir: folder,
    testMatch: files.map((file) => `<rootDir>/${file}`),
    moduleFileExtensions: ['js', 'cjs', 'mjs', 'json'],
    // Jest's own limit of five seconds is too short for a busy machine.
    testTimeout: 120_000,
  };
  // A second process for a second file would take longer than its tests.
  await node(program, ...options, JEST, '--runInBand', '--config', JSON.stringify(config));
}

/** The last one that Jest can load without an option: the later ones are ES modules, or need some. */
const PLAIN = '2.10.5';

/** To install each takes longer than its tests: the newest is that of this workspace. Each night it is installed, and so is the newest that begins with 2. */
const VERSIONS = isNight ? [PLAIN, '2', '3'] : [PLAIN, '3'];

/** The oldest version of each with the other, and the newest; each night every pair. */
const nodesFor = (isPlain: boolean) =>
  isNight ? NODES : NODES.filter(([, program]) => isPlain === (program === 'node22'));

describe.each(VERSIONS)('with msw %s', (version) => {
  const isPlain = version === PLAIN;
  if (!isPlain) {
    beforeAll(async () => {
      if (isNight) return void (await install(`msw@${version}`));
      const msw = join(folder, 'node_modules/msw');
      await rm(msw, { recursive: true });
      await symlink(fileURLToPath(new URL('../node_modules/msw', import.meta.url)), msw);
    });
  }

  if (isPlain) {
    test('the tests of the guide and the handlers run in plain Jest on Node.js 22', async () => {
      await jest('node22', ['links.test.js', 'msw.test.cjs']);
    });
  }

  test.each(nodesFor(isPlain))(
    'both entries run as ES modules and as CommonJS on %s',
    async (_, program) => {
      for (const file of ['main.mjs', 'main.cjs']) {
        expect(JSON.parse(await node(program, file)), file).toEqual({
          plan: 'pro',
          short: 'https://shortlink.test/',
          isOurs: true,
        });
      }
    },
  );

  // Plain Jest has run the first version just now.
  test.runIf(isNight || !isPlain).each([
    ['CommonJS on Node.js 24', 'node', ['links.test.js', 'msw.test.cjs']],
    ['an ES module on Node.js 22', 'node22', ['msw.test.mjs']],
  ])('Jest runs a test that is %s', async (_, program, files) => {
    await jest(program, files, '--experimental-vm-modules');
  });

  test.runIf(isNight || !isPlain)('TypeScript finds the types of both forms', async () => {
    // The packages that ours are built on are not checked here.
    const options = ['--module', 'nodenext', '--strict', '--noEmit', '--skipLibCheck'];
    const files = ['--types', 'node', 'types.cts', 'types.mts'];
    await node('node', compiler('7'), ...options, ...files);
  });
});
