import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../runtimes/drivers/launch-chromium.ts';
import { codeBlocks } from '../src/code-blocks.ts';
import { COMPILERS, compiler } from '../src/compilers.ts';
import { type Consumer, createConsumer } from '../src/consumer.ts';
import { isNight } from '../src/is-night.ts';
import { runCommand } from '../src/run-command.ts';
import { filledIn } from '../src/run-page.ts';
import { serveVitePage } from '../src/vite-page.ts';
import { World } from '../src/world.ts';

let consumer: Consumer;
let world: World;
let env: { SHORTLINK_API_KEY: string; SHORTLINK_BASE_URL: string };

beforeAll(async () => {
  [consumer, world] = await Promise.all([createConsumer('zod@^4'), World.create()]);
  const { key } = await world.caller('custom');
  env = { SHORTLINK_API_KEY: key, SHORTLINK_BASE_URL: world.server.url };
});
afterAll(async () => {
  await consumer?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

/** Runs a Node program in a folder of the consumer, and resolves to its output. */
function node(folder: string, ...args: string[]): Promise<string> {
  return runCommand(process.execPath, args, { cwd: join(consumer.folder, folder), env });
}

describe('the packed SDK', () => {
  it('has nothing that publint --strict would name, not even a suggestion', async () => {
    const packed = await readFile(consumer.tarball);
    const pack = { tarball: packed.buffer.slice(0, packed.byteLength) };
    const { messages } = await publint({ pack, strict: true });
    expect(messages).toEqual([]);
  });

  it('has types that attw --pack finds no problem with', async () => {
    const attw = new URL(
      'dist/index.js',
      import.meta.resolve('@arethetypeswrong/cli/package.json'),
    );
    const report = await node('.', fileURLToPath(attw), consumer.tarball);
    expect(report).toContain('No problems found');
  });

  it('says that it has no side effects, and has readable modules instead of source maps', async () => {
    const manifest = JSON.parse(await readFile(join(consumer.installed, 'package.json'), 'utf8'));
    expect(manifest.sideEffects).toBe(false);
    const dist = join(consumer.installed, 'dist');
    const files = await readdir(dist);
    expect(files.filter((file) => file.endsWith('.map'))).toEqual([]);
    const modules = files.filter((file) => /\.c?js$/.test(file));
    expect(modules.length).toBeGreaterThanOrEqual(4);
    for (const file of modules) {
      const text = await readFile(join(dist, file), 'utf8');
      expect(text.length / text.split('\n').length, file).toBeLessThan(100);
      expect(text, file).not.toContain('sourceMappingURL');
    }
  });

  it('has no file but what is loaded, and what npm adds', async () => {
    const files = await readdir(consumer.installed);
    expect(files.toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist',
      'package.json',
    ]);
  });

  it('runs in plain JavaScript, as an ES module and as CommonJS', async () => {
    expect(await node('esm-javascript', 'main.js')).toBe('true\n');
    expect(await node('cjs-javascript', 'main.js')).toBe('true\n');
  });

  it('runs the example of its README', async () => {
    const readme = await readFile(join(consumer.installed, 'README.md'), 'utf8');
    const examples = codeBlocks(readme).filter(({ language }) => language === 'ts');
    expect(examples).toHaveLength(1);
    const program = filledIn(
      examples[0]?.code ?? '',
      env.SHORTLINK_API_KEY,
      env.SHORTLINK_BASE_URL,
    );
    await writeFile(join(consumer.folder, 'esm-typescript/readme.ts'), program);
    const printed = await node('esm-typescript', 'readme.ts');
    expect(printed.trim().split('\n')).toEqual([
      expect.stringContaining(env.SHORTLINK_BASE_URL),
      expect.stringMatching(/^0 http/),
      expect.stringMatching(/^1 http/),
    ]);
  });

  // Each night those between the oldest and the newest compile it too.
  it.each(COMPILERS.filter(({ version }) => isNight || /^(5\.6|7)$/.test(version)))(
    'compiles with TypeScript $version to both forms, and runs',
    async ({ version, tsc }) => {
      // The oldest and the newest also check the declarations of the SDK and of zod by themselves, which is most of the work.
      const options = /^(5\.6|7)$/.test(version) ? [] : ['--skipLibCheck'];
      await node('.', tsc, '-p', 'tsconfig.json', ...options);
      for (const form of ['esm', 'cjs']) {
        expect(JSON.parse(await node(`${form}-typescript`, 'main.js')), form).toEqual({
          link: true,
          refused: '400 target_url',
          small: 1,
          job: 101,
          created: 1,
          wire: ['X-Api-Key', '/api/v1/links', 60],
        });
      }
    },
  );

  it('has types that Deno reads', async () => {
    const deno = fileURLToPath(import.meta.resolve('deno/deno'));
    const cwd = join(consumer.folder, 'esm-typescript');
    await runCommand(deno, ['check', '--quiet', 'main.ts'], { cwd, env: { NO_COLOR: '1' } });
  });

  it('compiles where only Node has declared fetch and the like', async () => {
    const types = fileURLToPath(new URL('..', import.meta.resolve('@types/node/package.json')));
    const compilerOptions = { lib: ['es2023'], types: ['node'], typeRoots: [types], noEmit: true };
    const config = JSON.stringify({ extends: './tsconfig.json', compilerOptions });
    await writeFile(join(consumer.folder, 'tsconfig.node.json'), config);
    await node('.', compiler('7'), '-p', 'tsconfig.node.json');
  });

  it('compiles the way TypeScript looked modules up before it knew exports', async () => {
    // zod's own types need esModuleInterop there. The declarations, once found, are those that were checked above.
    const options = ['--module', 'commonjs', '--moduleResolution', 'node10', '--esModuleInterop'];
    await node('.', compiler('5.6'), '--noEmit', '--skipLibCheck', ...options);
  });

  it('runs in a Vite app, in Chromium, under a policy without unsafe-eval', async () => {
    await using launched = await launchChromium();
    const root = join(consumer.folder, 'vite-app');
    // Vite itself checks no types.
    await node('vite-app', compiler('7'));
    await using served = await serveVitePage(root);
    const page = await launched.browser.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => problems.push(message.text()));
    await page.exposeFunction('violated', (directive: string) => problems.push(directive));
    await page.addInitScript(
      "addEventListener('securitypolicyviolation', (event) => violated(event.effectiveDirective))",
    );
    const query = new URLSearchParams({
      service: world.server.url,
      key: env.SHORTLINK_API_KEY,
    });
    await page.goto(`${served.url}?${query}`);
    const output = page.locator('output', { hasText: 'created' });
    await output.waitFor().catch(() => undefined);
    expect(problems).toEqual([]);
    expect(await output.textContent()).toBe('101 created');
  });
});
