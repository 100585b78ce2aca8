import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleModule } from '../runtimes/drivers/bundle-entry.ts';
import { chromiumPath, launchChromium } from '../runtimes/drivers/launch-chromium.ts';
import { startWorkerd } from '../runtimes/drivers/start-workerd.ts';
import { runCommand } from '../src/run-command.ts';
import { runProgram } from '../src/run-program.ts';
import { serveVitePage } from '../src/vite-page.ts';
import { World } from '../src/world.ts';

const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url));
const example = (path: string) => join(EXAMPLES, path);

let world: World;
let key: string;
/** The environment variables of the examples. */
let env: { SHORTLINK_API_KEY: string; SHORTLINK_BASE_URL: string };

beforeAll(async () => {
  world = await World.create();
  ({ key } = await world.caller('custom'));
  env = { SHORTLINK_API_KEY: key, SHORTLINK_BASE_URL: world.server.url };
});
afterAll(() => world?.[Symbol.asyncDispose]());

describe('examples/node', () => {
  const shorten = (args: string[], more = {}) =>
    runProgram(example('node/shorten.mjs'), args, { env: { ...env, ...more } });

  it('shortens the URLs of its command line', async () => {
    const { exitCode, stdout } = await shorten(['https://example.com/a', 'https://example.com/b']);
    expect(exitCode).toBe(0);
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^http:.+ -> https:\/\/example\.com\/a$/),
      expect.stringMatching(/^http:.+ -> https:\/\/example\.com\/b$/),
    ]);
  });

  it('says in words what went wrong', async () => {
    expect(await shorten([])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^Which/),
    });
    const refused = await shorten(['nowhere']);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('target_url') });
    const { key: full } = await world.caller('custom', { links: 0 });
    const limited = await shorten(['https://example.com'], { SHORTLINK_API_KEY: full });
    expect(limited).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('(0 of 0)') });
  });
});

describe('examples/ci', () => {
  it('creates a link for every page, and fails the job when one is missing', async () => {
    const output = world.path('short-links.json');
    const create = (pages: string) =>
      runProgram(example('ci/create-links.mjs'), [pages, output], { env });
    expect((await create(example('ci/pages.json'))).exitCode).toBe(0);
    const shortUrls = JSON.parse(await readFile(output, 'utf8'));
    expect(Object.keys(shortUrls)).toHaveLength(3);
    expect(shortUrls['https://example.com/docs']).toMatch(/^http:/);

    const pages = world.path('pages.json');
    await writeFile(pages, JSON.stringify([{ url: 'nowhere', title: '' }]));
    const failed = await create(pages);
    expect(failed.exitCode).toBe(1);
    expect(failed.stderr).toContain('failed: nowhere');
  });
});

it('examples/bun shortens the lines of its standard input', async () => {
  const bun = fileURLToPath(import.meta.resolve('bun/bin/bun.exe'));
  const input = 'https://example.com/1\n\nhttps://example.com/2\n';
  await writeFile(world.path('urls.txt'), input);
  const command = `"${bun}" shorten-lines.ts < "${world.path('urls.txt')}"`;
  const printed = await runCommand('bash', ['-c', command], { cwd: example('bun'), env });
  expect(printed.trim().split('\n')).toEqual([
    expect.stringMatching(/^https:\/\/example\.com\/1\thttp:/),
    expect.stringMatching(/^https:\/\/example\.com\/2\thttp:/),
  ]);
});

it('examples/deno follows the job of a batch', async () => {
  const deno = fileURLToPath(import.meta.resolve('deno/deno'));
  const args = ['run', '--no-prompt', '--allow-net', '--allow-env', 'batch.ts', '500'];
  const printed = await runCommand(deno, args, { cwd: example('deno'), env });
  expect(printed).toMatch(/^500 links, the first is http:/);
});

it('examples/worker shortens what pages send it, and answers their mistakes', async () => {
  const conditions = ['workerd', 'worker', 'browser'];
  const script = await bundleModule(example('worker/worker.ts'), conditions);
  await using worker = await startWorkerd(script, env);
  const post = (body: string) => fetch(worker.url, { method: 'POST', body });
  const created = await post('{"url":"https://example.com/docs"}');
  expect(created.status).toBe(201);
  expect(await created.json()).toEqual({ short_url: expect.stringMatching(/^http:/) });
  expect((await post('{"url":"nowhere"}')).status).toBe(400);
  expect((await post('not JSON')).status).toBe(400);
  expect((await fetch(worker.url)).status).toBe(405);

  const { key: limited } = await world.caller('custom', { rpm: 0 });
  await using busy = await startWorkerd(script, { ...env, SHORTLINK_API_KEY: limited });
  const refused = await fetch(busy.url, { method: 'POST', body: '{"url":"https://example.com"}' });
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
});

it('examples/browser shortens a link in a page, and shows what went wrong', async () => {
  await using launched = await launchChromium();
  await using served = await serveVitePage(example('browser'));
  const page = await launched.browser.newPage();
  await page.goto(served.url);
  const fill = async (url: string) => {
    await page.getByLabel('Service').fill(world.server.url);
    await page.getByLabel('API key').fill(key);
    await page.getByLabel('URL').fill(url);
  };
  await fill('https://example.com/docs');
  await page.getByRole('button').click();
  const link = page.locator('output a');
  await link.waitFor();
  expect(await link.textContent()).toMatch(/^http:/);
  await fill('ftp://example.com');
  await page.getByRole('button').click();
  await page.locator('output', { hasText: 'target_url' }).waitFor();

  // Where the script is late or lost, the form must not put the key into the address of a page.
  await page.route('**/*.js', (route) => route.abort());
  await page.reload();
  await fill('https://example.com/docs');
  const refusal = await page.evaluate(`new Promise((resolve) => {
    addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
    document.querySelector('form').requestSubmit();
  })`);
  expect(refusal).toBe('form-action');
});

describe('examples/browser-tests', () => {
  const withChromium = async () => ({ CHROMIUM_PATH: (await chromiumPath()) ?? '' });

  it('tests a component and its stories in the browser mode of Vitest', async () => {
    const vitest = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));
    const args = ['run', '--root', example('browser-tests'), '--reporter', 'tap-flat'];
    const { exitCode, stdout, stderr } = await runProgram(vitest, args, {
      cwd: example('browser-tests'),
      env: await withChromium(),
    });
    expect(exitCode, stdout + stderr).toBe(0);
    expect(stdout.match(/^ok /gm)).toHaveLength(3);
  });

  it('tests a page with Playwright', async () => {
    await using served = await serveVitePage(example('browser'));
    const { exitCode, stdout, stderr } = await runProgram(
      example('browser-tests/playwright.test.ts'),
      [],
      { env: { ...(await withChromium()), APP_URL: served.url } },
    );
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/pass 1\n/);
  });
});
