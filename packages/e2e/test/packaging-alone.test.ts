import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleModule } from '../runtimes/drivers/bundle-entry.ts';
import { startWorkerd } from '../runtimes/drivers/start-workerd.ts';
import { COMPILERS } from '../src/compilers.ts';
import { type Consumer, createConsumer } from '../src/consumer.ts';
import { runCommand } from '../src/run-command.ts';
import { World } from '../src/world.ts';

/** The SDK in an empty project: nothing else is installed there. */
let consumer: Consumer;
let world: World;
let key: string;

beforeAll(async () => {
  [consumer, world] = await Promise.all([createConsumer(), World.create()]);
  ({ key } = await world.caller('custom'));
});
afterAll(async () => {
  await consumer?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const ANSWER = { link: true, batch: 101, created: 101, error: 'BadRequestError', limit: 10_000 };
const fixture = (file: string) => join(consumer.folder, 'alone', file);

test('it is the only package that npm installs', async () => {
  const modules = join(consumer.folder, 'node_modules');
  const names = (await readdir(modules)).filter((name) => !name.startsWith('.'));
  expect(names).toEqual(['@shortlink']);
  expect(await readdir(join(modules, '@shortlink'))).toEqual(['sdk']);
  const manifest = JSON.parse(await readFile(join(consumer.installed, 'package.json'), 'utf8'));
  expect(manifest.dependencies ?? {}).toEqual({});
  expect(manifest.peerDependenciesMeta).toEqual({ zod: { optional: true } });
});

test('it takes at most 0.7 MB on the disk', async () => {
  const files = await readdir(consumer.installed, { recursive: true, withFileTypes: true });
  const sizes = files
    .filter((file) => file.isFile())
    .map(async (file) => (await stat(join(file.parentPath, file.name))).size);
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  console.log(`installed: ${(bytes / 1e6).toFixed(3)} MB`);
  expect(bytes).toBeLessThanOrEqual(700_000);
});

test('the declarations of the client name no type of zod and none of its own parts, whatever they lead to', async () => {
  const dist = join(consumer.installed, 'dist');
  const seen = new Set(['index.d.ts', 'index.d.cts']);
  for (const file of seen) {
    const text = await readFile(join(dist, file), 'utf8');
    expect(
      /zod|HttpTransport|TransportParts|KnownJobs|ResourceParts|ClientSettings/i.exec(text)?.[0],
      file,
    ).toBeUndefined();
    for (const [, name = '', extension] of text.matchAll(/from '\.\/([\w.-]+?)\.(c?js)'/g)) {
      seen.add(`${name}.d.${extension === 'cjs' ? 'cts' : 'ts'}`);
    }
  }
  expect(seen.size).toBeGreaterThanOrEqual(2);
});

// The oldest and the newest. With zod beside it, the others compile it too.
test.each([COMPILERS[0], COMPILERS[3]])(
  'the client compiles with TypeScript $version',
  async ({ tsc }) => {
    const config = { extends: '../tsconfig.json', files: ['client.ts'] };
    await writeFile(fixture('tsconfig.json'), JSON.stringify(config));
    await runCommand(process.execPath, [tsc, '--noEmit', '-p', fixture('tsconfig.json')], {
      cwd: consumer.folder,
    });
  },
);

/** Without Node.js 24, which runs both forms beside zod. */
const PROGRAMS: [string, string, string[]][] = [
  ['Node.js 22', 'node22/bin/node', []],
  ['Node.js 26', 'node26/bin/node', []],
  ['Bun', 'bun/bin/bun.exe', ['run']],
  ['Deno', 'deno/deno', ['run', '--no-prompt', '--no-remote', '--allow-net=127.0.0.1']],
];

test.each(PROGRAMS)('it runs in %s, as an ES module', async (_, program, args) => {
  await expectAnswer(program, args, 'main.js');
});

test.each(PROGRAMS.filter(([name]) => name !== 'Deno'))(
  'it runs in %s, as CommonJS',
  async (_, program, args) => {
    await expectAnswer(program, args, 'main.cjs');
  },
);

async function expectAnswer(program: string, args: string[], file: string): Promise<void> {
  const path = fileURLToPath(import.meta.resolve(program));
  const output = await runCommand(path, [...args, fixture(file), key, world.server.url], {
    cwd: join(consumer.folder, 'alone'),
    env: { NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1', DO_NOT_TRACK: '1' },
  });
  expect(JSON.parse(output)).toEqual(ANSWER);
}

// The app that Vite builds runs in a browser. What a bundler finds there is what it finds here.
test('it runs in workerd', async () => {
  const script = await bundleModule(fixture('worker.js'), ['workerd', 'worker', 'browser']);
  await using worker = await startWorkerd(script);
  const query = new URLSearchParams({ service: world.server.url, key });
  const response = await fetch(`${worker.url}?${query}`);
  expect(JSON.parse(await response.text()), worker.output()).toEqual(ANSWER);
});
