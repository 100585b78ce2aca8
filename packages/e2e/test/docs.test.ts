import { once } from 'node:events';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { SDK_TOPICS, sidebar } from '../../docs/.vitepress/sidebar.ts';
import { checkAnchors } from '../../docs/scripts/check-anchors.ts';
import { siteUrl } from '../../tools/src/manifests.ts';
import { launchChromium } from '../runtimes/drivers/launch-chromium.ts';
import { bundleSize } from '../src/bundle-size.ts';
import { PAGES, readPage } from '../src/documented-code.ts';
import { isNight } from '../src/is-night.ts';
import { runCommand } from '../src/run-command.ts';
import { savePicture } from '../src/save-picture.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DOCS = join(ROOT, 'packages/docs');
const ARTIFACTS = fileURLToPath(new URL('../artifacts/', import.meta.url));

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Paths of the pages in the sidebar. */
const LINKS = sidebar
  .flatMap(({ link, items = [{ link }] }) => items.map((item) => item.link ?? ''))
  .concat('/');

/**
 * Pages that have every kind of element: their accessibility is checked, and each night that of all pages. What else can be wrong belongs to the
 * theme, or is written the same way on other pages. The dark theme is seen on the first three.
 */
const CHECKED = [
  ...['/', '/sdk/exactly-once', '/importing/ci'],
  ...['/start/sdk', '/reference/cli', '/troubleshooting', '/reference/library/sdk/links'],
];

const DESK = { width: 1280, height: 844 };
const PHONE = { width: 390, height: 844 };

describe('the site', () => {
  let site: string;
  let url: string;
  let browser: Browser;
  const cleanup = new AsyncDisposableStack();
  beforeAll(async () => {
    site = await mkdtemp(join(tmpdir(), 'shortlink-docs-'));
    const options = { cwd: DOCS };
    await runCommand(process.execPath, ['scripts/write-reference.ts'], options);
    const vitepress = join(DOCS, 'node_modules/vitepress/bin/vitepress.js');
    // With more room for young objects, a tenth of the time is saved.
    const build = ['--max-semi-space-size=64', vitepress, 'build', '--outDir', site];
    // What shortens the scripts is esbuild, as it is everywhere; each night the shortened ones are run.
    if (!isNight) build.push('--minify', 'false');
    await runCommand(process.execPath, build, options);
    ({ url } = cleanup.use(await serve(site)));
    ({ browser } = cleanup.use(await launchChromium()));
  });
  afterAll(async () => {
    await cleanup.disposeAsync();
    await rm(site, { recursive: true, force: true });
  });

  async function openTab(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext(options);
    onTestFinished(() => context.close());
    return await context.newPage();
  }

  const page = (link: string) =>
    readFile(join(site, `${link.replace(/\/$/, '/index')}.html`), 'utf8');

  test('has every page of the sidebar, and every page is in it', async () => {
    for (const link of LINKS) expect(await page(link), link).toContain('</html>');
    const written = PAGES.flatMap(
      (name) => /^packages\/docs(\/(?!README).*)\.md$/.exec(name)?.[1] ?? [],
    );
    // The protocol with its tests is for people who change the service: the page about checking a server leads to it.
    expect(written.map((name) => name.replace(/\/index$/, '/')).toSorted()).toEqual(
      [...LINKS.filter((link) => !link.startsWith('/reference/')), '/protocol'].toSorted(),
    );
  });

  test('has each name of the client on one page of its reference', async () => {
    const topics = await Promise.all(
      SDK_TOPICS.map((topic) => readFile(join(DOCS, `topics/${topic}.ts`), 'utf8')),
    );
    const inTopics = topics.flatMap((text) => [...exportedNames(text)]);
    const exported = exportedNames(await readFile(join(ROOT, 'packages/sdk/src/index.ts'), 'utf8'));
    expect(inTopics.toSorted()).toEqual([...exported].toSorted());
  });

  test('tells search engines and previews what each page is', async () => {
    const { repository } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const host = siteUrl(repository);
    const sitemap = await readFile(join(site, 'sitemap.xml'), 'utf8');
    const descriptions = new Set<string>();
    for (const link of LINKS) {
      const html = await page(link);
      const [, description = ''] = /<meta name="description" content="([^"]+)"/.exec(html) ?? [];
      descriptions.add(description);
      const address = host + link.slice(1);
      expect(html).toContain(`<link rel="canonical" href="${address}"`);
      expect(html).toContain(`<meta property="og:image" content="${host}og.png"`);
      expect(html).toMatch(/<link rel="icon" type="image\/svg\+xml" href="\/logo.svg"/);
      expect(sitemap).toContain(`<loc>${address}</loc>`);
      if (link === '/') continue;
      const written = await readFile(join(site, `${link.replace(/\/$/, '/index')}.md`), 'utf8');
      expect(written).toMatch(/^# /m);
    }
    expect(descriptions.size).toBe(LINKS.length);
    for (const file of ['og.png', 'logo.svg']) expect(existsSync(join(site, file))).toBe(true);
    expect(await page('/start/cli')).toContain(
      `${repository}/edit/main/packages/docs/start/cli.md`,
    );
  });

  test('describes what the code declares', async () => {
    expect(await page('/reference/cli')).toContain('--max-rejects');
    expect(await page('/reference/server')).toContain('keys rotate');
    expect(await page('/reference/settings')).toContain('SHORTLINK_TLS_ASK_TOKEN');
    const http = await page('/reference/http-api');
    expect(http).toContain('POST /api/v1/links/batch');
    // Each endpoint that a program asks has a request and its response.
    const withoutRequest = http
      .split('<h3 ')
      .filter((part) => /^id="(get|post)[-"]/.test(part) && !part.includes('curl'))
      .map((part) => /^id="([^"]*)/.exec(part)?.[1]);
    expect(withoutRequest).toEqual(['get-analytics', 'get-analytics-file']);
    expect(http).toContain('Location: https://example.com/docs');
    expect(await page('/reference/error-codes')).toContain('idempotency_conflict');
    expect(await page('/reference/exit-codes')).toContain('130');
    expect(await page('/reference/plans')).toContain('1,000,000');
    expect(await page('/reference/size')).toMatch(/\d\d\.\d\d KB/);
    const sdk = (topic: string) => page(`/reference/library/sdk/${topic}`);
    expect(await sdk('options')).toContain('ShortlinkOptions');
    expect(await sdk('bulk')).toContain('CreateManyOptions');
    expect(await sdk('errors')).toContain('PlanLimitError');
    // The fields of a response are derived from what reads them.
    expect(await sdk('links')).toContain('Redirects followed so far');
    expect(await page('/reference/changes')).toContain('In the next release');
    // What is called comes before the shapes of what it takes.
    const links = await sdk('links');
    expect(links.indexOf('id="batchinput"')).toBeGreaterThan(links.indexOf('id="links"'));
    expect(links.indexOf('id="links"')).toBeGreaterThan(0);
    expect(await page('/reference/library/@shortlink/server/browser')).toContain('PageService');
  });

  test('has llms.txt with each page, and llms-full.txt with the text of all', async () => {
    const list = await readFile(join(site, 'llms.txt'), 'utf8');
    const full = await readFile(join(site, 'llms-full.txt'), 'utf8');
    for (const link of LINKS.filter((path) => path !== '/')) {
      // A whole sentence, and no code.
      const file = `${link.replace(/\/$/, '/index')}.md`;
      expect(list).toMatch(
        new RegExp(`^- \\[.+\\]\\(https://\\S+${file}\\): [A-Z\\x60@].{10,}[.]$`, 'm'),
      );
      expect(full).toContain(`<!-- ${link} -->`);
    }
    expect(full).toContain('alert: ShortlinkDatabaseDown');
  });

  test('runs its examples in the page, which then fits a desk and a phone', async () => {
    const tab = await openTab();
    for (const [link, printed] of Object.entries(PRINTED)) {
      await tab.setViewportSize(DESK);
      await tab.goto(url + link);
      const examples = await tab.locator('.live').all();
      expect(examples.length, link).toBe(printed.length);
      for (const [index, example] of examples.entries()) {
        expect(await runLive(example), `${link} ${index}`).toMatch(printed[index] ?? 'nothing');
        expect(await example.getAttribute('data-state'), `${link} ${index}`).toBe('done');
      }
      for (const viewport of [DESK, PHONE]) {
        await tab.setViewportSize(viewport);
        const width = tab.evaluate<number>('document.documentElement.scrollWidth');
        expect(await width, link).toBe(viewport.width);
      }
    }
    await savePicture(tab, { path: join(ARTIFACTS, 'docs-live.png') });
  });

  test('lets readers change an example, the plan, and what goes wrong, on a phone', async () => {
    const tab = await openTab({ viewport: PHONE });
    await tab.goto(`${url}/start/sdk`);
    const [first, many] = await tab.locator('.live').all();
    if (first === undefined || many === undefined) throw new Error('The page has no examples.');
    const fault = first.getByLabel('What goes wrong');
    const requests = first.locator('.exchanges summary');

    await fault.selectOption('a 429');
    expect(await runLive(first)).toMatch(/^https:/);
    expect(await requests.allTextContents()).toEqual([
      expect.stringMatching(/\/links\s+429\s*$/),
      expect.stringMatching(/\/links\s+201\s*$/),
    ]);

    await fault.selectOption('a lost response');
    expect(await runLive(first)).toMatch(/^ConnectionError: /);
    await fault.selectOption('nothing');

    await first.getByRole('button', { name: 'Edit' }).click();
    const code = first.getByLabel('Code of the example');
    await code.fill((await code.inputValue()).replace('link.short_url', 'link.title as string'));
    expect(await runLive(first)).toBe('Documentation\n');
    await requests.first().click();
    await first.getByText('"title": "Documentation"').first().waitFor();
    await code.fill('this is no program');
    expect(await runLive(first)).toMatch(/^SyntaxError/);
    const request = "'https://sho.rt/api/v1/links', { method: 'POST', body: '{oops' }";
    await code.fill(`console.log((await fetch(${request})).status);`);
    expect(await runLive(first)).toBe('401\n');

    await many.getByLabel('Plan').selectOption('community');
    expect(await runLive(many)).toMatch(/PlanLimitError: .*15/);
    await many.getByLabel('Plan').selectOption('custom');
    await many.getByLabel('What goes wrong').selectOption('a slow job');
    expect(await runLive(many)).toMatch(/249 https:/);
  });

  test('makes a short link on its first page', async () => {
    const tab = await openTab();
    await tab.goto(url);
    await tab.getByLabel('A long address').fill('https://example.com/docs');
    await tab.getByRole('button', { name: 'Shorten' }).click();
    await tab.getByRole('status').filter({ hasText: 'https://sho.rt/' }).waitFor();
    const redirect = tab.getByRole('listitem').filter({ hasText: '302 https://example.com/docs' });
    await redirect.waitFor();
    await tab.getByLabel('A long address').fill('nonsense');
    await tab.getByRole('button', { name: 'Shorten' }).click();
    await tab.getByRole('status').filter({ hasText: 'absolute http or https URL' }).waitFor();
  });

  test('fits a phone and has no complaint, in light and in dark', async () => {
    await mkdir(ARTIFACTS, { recursive: true });
    // Colours change no widths, so a few pages suffice for the dark theme.
    const looks = { light: LINKS, dark: isNight ? LINKS : CHECKED.slice(0, 3) } as const;
    for (const colorScheme of ['light', 'dark'] as const) {
      const viewport = { width: 320, height: 640 };
      const tab = await openTab({ viewport, colorScheme });
      const still = await openTab({ viewport, colorScheme, javaScriptEnabled: false });
      const complaints: string[] = [];
      tab.on('pageerror', (error) => complaints.push(String(error)));
      tab.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      for (const link of looks[colorScheme]) {
        const isChecked = isNight || CHECKED.includes(link);
        // The scripts are the same on all pages; without them, a page that is text alone is as wide as with them.
        const shown = isChecked || link in PRINTED ? tab : still;
        await shown.goto(url + link);
        const width = await shown.evaluate<number>('document.documentElement.scrollWidth');
        if (width > viewport.width) complaints.push(`${link} is ${width} wide`);
        if (!isChecked) continue;
        const found = await axe(tab);
        complaints.push(...found.map((problem) => `${link}: ${problem}`));
      }
      await savePicture(tab, { path: join(ARTIFACTS, `docs-${colorScheme}.png`) });
      // What to do about a message is beside it, and not out of sight.
      await tab.goto(`${url}/troubleshooting`);
      const advice = await tab.locator('td:last-child').first().boundingBox();
      expect((advice?.x ?? 0) + (advice?.width ?? Infinity)).toBeLessThanOrEqual(viewport.width);
      expect(complaints).toEqual([]);
    }
  });

  test('has a first screen, a page for a wrong address and a search that everyone can use', async () => {
    const viewport = { width: 1280, height: 800 };
    const tab = await openTab({ viewport });
    await tab.goto(url);
    for (const seen of [tab.locator('.install'), tab.locator('.import img')]) {
      const box = await seen.boundingBox();
      expect(box?.y).toBeLessThan(viewport.height - 100);
    }
    await savePicture(tab, { path: join(ARTIFACTS, 'docs-home.png') });
    // What a reader looks for in a table is on the screen.
    for (const link of ['/troubleshooting', '/reference/settings', '/reference/error-codes']) {
      await tab.goto(url + link);
      const hidden = await tab
        .locator('.vp-doc table')
        .evaluateAll((tables) => tables.map((table) => table.scrollWidth - table.clientWidth));
      expect(hidden.length, link).toBeGreaterThan(0);
      expect(Math.max(...hidden), link).toBeLessThanOrEqual(1);
    }
    await tab.goto(`${url}/no-such-page`);
    await tab.getByRole('main').waitFor();
    expect(await axe(tab)).toEqual([]);
    // From one page to another in the browser, a page never has two.
    await tab.getByRole('main').getByRole('link').first().click();
    await tab.locator('.install').waitFor();
    expect(await tab.getByRole('main').count()).toBe(1);

    const search = tab.locator('.VPNavBarSearch button').first();
    await search.click();
    const found = tab.locator('.VPLocalSearchBox .results a');
    await tab.locator('.VPLocalSearchBox input').fill('resume');
    await found.first().waitFor();
    expect(await axe(tab)).toEqual([]);
    // A guide first, though the reference has the word more often; and nothing of the tests.
    expect(await found.first().getAttribute('href')).not.toContain('/reference/');
    const targets = await found.evaluateAll((links) =>
      links.map((link) => link.getAttribute('href')),
    );
    expect(targets.filter((target) => target?.startsWith('/protocol'))).toEqual([]);
    await savePicture(tab, { path: join(ARTIFACTS, 'docs-search.png') });
    await tab.keyboard.press('Escape');
    await found.first().waitFor({ state: 'detached' });
    await expect.poll(() => search.evaluate((button) => button.matches(':focus'))).toBe(true);
  });
});

/** The accessibility problems that axe finds in the page now, by rule and element. */
async function axe(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const found = await Reflect.get(globalThis, 'axe').run({ resultTypes: ['violations'] });
    return found.violations.flatMap((rule: { id: string; nodes: { target: string[] }[] }) =>
      rule.nodes.map((node) => `${rule.id} ${node.target.join(' ')}`),
    );
  });
}

/** The names in the `export { … }` of a source. */
function exportedNames(source: string): Set<string> {
  const lists = [...source.matchAll(/export (?:type )?\{([^}]*)\}/g)].map(([, list = '']) => list);
  return new Set(
    lists.flatMap((list) =>
      list.split(',').flatMap((name) => name.replace(/\btype /, '').trim() || []),
    ),
  );
}

/** What the examples of a page print when they are run in it, in order. */
const PRINTED: Record<string, readonly RegExp[]> = {
  '/start/sdk': [
    /^https:\/\/sho\.rt\/\w{7}\n$/,
    /^(https:\/\/example\.com\/\d+ https:\/\/sho\.rt\/\w{7}\n){250}$/,
    /^https:\/\/sho\.rt\/\w{7}\n$/,
  ],
  '/sdk/errors': [/^400 target_url must be an absolute http or https URL\n$/],
  '/sdk/bulk': [/^500\n$/, /^150\n$/, /^1\n$/, /^(\d+\n)*5000\n5000\n$/],
  '/sdk/testing': [
    /^302 https:\/\/example\.com\n$/,
    /^true\n$/,
    /^community\n$/,
    /^true\n$/,
    /^https:\/\/(?:shortlink\.test|sho\.rt)\/\w{7}\n0\n$/,
    /^abc\n$/,
  ],
};

/** Runs an example, and resolves to what it printed once it has ended. */
async function runLive(example: Locator): Promise<string> {
  await example.getByRole('button', { name: 'Run' }).click();
  const ended = example.locator('xpath=self::*[@data-state="done" or @data-state="failed"]');
  await ended.waitFor();
  return (await example.getByRole('log').textContent()) ?? '';
}

/** Pages of the reference are written when the site is built, and the build fails for links to missing ones. */
const WRITTEN_LATER = /docs\/reference\//;

describe('links', () => {
  test('to a heading that is not there fail the build', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'shortlink-anchors-'));
    const write = (html: string) => writeFile(join(folder, 'a.html'), html);
    await write('<h2 id="there">T</h2><a href="#there">1</a><a href="/a#there">2</a>');
    await expect(checkAnchors(folder)).resolves.toBeUndefined();
    await write('<h2 id="there">T</h2><a class="x" href="./a#nowhere">1</a>');
    await expect(checkAnchors(folder)).rejects.toThrow('/a: /a#nowhere');
    await rm(folder, { recursive: true });
  });

  test('the README has every guide, in the order of the sidebar', () => {
    const listed = [...readPage('packages/docs/README.md').matchAll(/\]\(\.(\/\S+)\.md\)/g)];
    expect(listed.map(([, path = '']) => path.replace(/\/index$/, '/'))).toEqual(
      LINKS.filter((link) => link !== '/' && !link.startsWith('/reference/')),
    );
  });

  test.each(PAGES)('of %s lead to files', (name) => {
    const targets = [
      ...readPage(name).matchAll(/\]\((?!https?:|#|\/)([^)#]+)[^)]*\)|(?:src|srcset)="([^"]+)"/g),
    ].map(([, link, source]) => join(ROOT, dirname(name), link ?? source ?? ''));
    const lost = targets.filter((path) => !WRITTEN_LATER.test(path) && !existsSync(path));
    expect(lost).toEqual([]);
  });
});

test('the messages that the page about troubles explains are said by the code', () => {
  const sources = globSync('packages/{cli,server,sdk,tables}/src/**/*.ts', { cwd: ROOT })
    .filter((file) => !file.includes('.test'))
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n');
  const rows = [...readPage('packages/docs/troubleshooting.md').matchAll(/^\| `([^`]+)` \|/gm)];
  expect(rows.length).toBeGreaterThan(20);
  const unsaid = rows.flatMap(([, message = '']) =>
    message.split('…').filter((part) => !sources.includes(part.trim())),
  );
  expect(unsaid).toEqual([]);
});

test('the badges of the README say what is so', async () => {
  const readme = readPage('README.md');
  const manifest = JSON.parse(await readFile(join(ROOT, 'packages/cli/package.json'), 'utf8'));
  expect(readme).toContain(`badge/license-${manifest.license}-`);
  const version = /badge\/node-%E2%89%A5%20([\d.]+)-/.exec(readme)?.[1];
  for (const name of ['sdk', 'cli', 'server']) {
    const text = await readFile(join(ROOT, 'packages', name, 'package.json'), 'utf8');
    expect(JSON.parse(text).engines.node, name).toBe(`>=${version}`);
  }
  const kilobytes = Number(/badge\/client%20in%20a%20page-(\d+)%20KB/.exec(readme)?.[1]);
  const measured = (await bundleSize("export * from '@shortlink/sdk'")) / 1000;
  expect(kilobytes).toBe(Math.round(measured));
});

/** Serves the files of a folder as hosts of static pages do: `/a` is `a.html`. */
async function serve(folder: string): Promise<{ url: string } & AsyncDisposable> {
  const types: Record<string, string> = {
    '.css': 'text/css',
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.svg': 'image/svg+xml',
    '.wasm': 'application/wasm',
  };
  const server = createServer(async ({ url = '/' }, response) => {
    const path = join(folder, decodeURIComponent(url.split('?')[0] ?? ''));
    const found = [path, `${path}.html`, join(path, 'index.html')].find(
      (file) => existsSync(file) && statSync(file).isFile(),
    );
    if (found === undefined) {
      const missing = await readFile(join(folder, '404.html'));
      return response.writeHead(404, { 'Content-Type': 'text/html' }).end(missing);
    }
    const type = types[extname(found)] ?? 'application/octet-stream';
    return response.writeHead(200, { 'Content-Type': type }).end(await readFile(found));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
