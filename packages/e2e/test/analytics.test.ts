import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { startTestServer, type TestServer } from '@shortlink/server/testing';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchChromium } from '../runtimes/drivers/launch-chromium.ts';

const ARTIFACTS = fileURLToPath(new URL('../artifacts/', import.meta.url));
const AXE = createRequire(import.meta.url).resolve('axe-core');

/** The service's clock stands still, so that no window ends between use and look. */
const NOW = Date.now();
const DAY = 86_400_000;

let server: TestServer;
let browser: Browser;
const cleanup = new AsyncDisposableStack();

beforeAll(async () => {
  server = cleanup.use(
    await startTestServer({
      now: () => NOW,
      plan: 'custom',
      limits: { requests_per_minute: 60, requests_per_day: 5_000, links: 20_000, api_keys: 3 },
    }),
  );
  await useTheService(server);
  browser = cleanup.use(await launchChromium()).browser;
  await mkdir(ARTIFACTS, { recursive: true });
});
afterAll(() => cleanup.disposeAsync());

/** A month of requests and links with a weekly rhythm, and a minute with more requests than allowed. */
async function useTheService({ store, accountId, apiKey }: TestServer): Promise<void> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(apiKey));
  const caller = await store.findKeyByHash(new Uint8Array(hash));
  if (caller === undefined) throw new Error('the key is unknown');
  await store.recordKeyUse(caller.keyId, NOW - DAY);
  for (let day = 29; day > 0; day -= 1) {
    const now = NOW - day * DAY;
    const busy = new Date(now).getUTCDay() % 6 === 0 ? 6 : 30 + ((day * 7) % 20);
    for (let n = 0; n < busy; n += 1) await store.admit(caller, now + n * 1_000);
    const input = Array.from({ length: busy * 3 }, () => ({
      target_url: 'https://example.com/',
      title: '',
      redirect_type: 302 as const,
      tags: [],
      domain_id: null,
    }));
    await store.createBatch({ caller, input, now });
  }
  for (let n = 0; n < 75; n += 1) await store.admit(caller, NOW - 3 * 60_000);
  for (let n = 0; n < 52; n += 1) await store.admit(caller, NOW);
  await store.createKey({
    accountId,
    name: '<img src=x onerror=alert(1)>',
    permissions: ['analytics:read'],
    hash: crypto.getRandomValues(new Uint8Array(32)),
    now: NOW,
  });
}

interface Visit {
  page: Page;
  /** What the page asked for, and what the browser or its policy complained of. */
  requests: string[];
  complaints: string[];
}

/** Opens the page as a visitor of its own, with an eye on what it does. */
async function visit(options: Parameters<Browser['newContext']>[0] = {}): Promise<Visit> {
  const context = await browser.newContext(options);
  cleanup.defer(() => context.close());
  context.setDefaultTimeout(10_000);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => complaints.push(dialog.message()));
  await page.goto(`${server.url}/analytics`);
  return { page, requests, complaints };
}

async function signIn(page: Page, key = server.apiKey): Promise<void> {
  await page.getByRole('textbox', { name: 'API key' }).fill(key);
  await page.getByRole('button', { name: 'Show usage' }).click();
}

/** Findings of axe on the page as it stands, by rule and place. */
async function axe(page: Page): Promise<string[]> {
  // Evaluated by the debugger, since the page's own policy lets no foreign script in.
  await page.evaluate(await readFile(AXE, 'utf8'));
  return page.evaluate(async () => {
    const found = await Reflect.get(globalThis, 'axe').run();
    return found.violations.flatMap((rule: { id: string; nodes: { target: string[] }[] }) =>
      rule.nodes.map((node) => `${rule.id} ${node.target.join(' ')}`),
    );
  });
}

test('shows the account, each key, its charts and its refusals', async () => {
  const { page, requests, complaints } = await visit();
  await signIn(page);
  await page.getByRole('heading', { name: 'Account: Custom plan' }).waitFor();
  const limit = (name: string) => page.locator('#limits li', { hasText: name });
  expect(await limit('Requests this minute').textContent()).toMatch(/52 of 60\s+86 % used, new in/);
  expect(await limit('Short links in total').textContent()).toMatch(/[\d,]+ of 20,000/);
  expect(await limit('API keys').textContent()).toMatch(/2 of 3/);
  const [first, second] = await page.locator('article').all();
  expect(await first?.getByRole('heading', { level: 3 }).textContent()).toBe('test');
  expect(await first?.textContent()).toContain('This minute: 52 of 60');
  expect(await first?.textContent()).toMatch(/last used \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
  const bars = await first?.locator('usage-chart.requests g').count();
  expect(bars).toBe(30);
  expect(await first?.locator('.refusals tbody tr').first().textContent()).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\dRequests a minute15$/,
  );
  await first?.getByText('The 30 days as a table').click();
  expect(await first?.locator('.days tbody tr').count()).toBe(30);
  // A name is text, whatever it looks like.
  expect(await second?.getByRole('heading', { level: 3 }).textContent()).toBe(
    '<img src=x onerror=alert(1)>',
  );
  expect(await second?.textContent()).toContain('Not used in the last 30 days.');
  expect(await second?.locator('usage-chart').first().isVisible()).toBe(false);
  expect(complaints).toEqual([]);
  expect([...new Set(requests)]).toEqual([`${server.url}/analytics`, `${server.url}/api/v1/usage`]);
});

test.each([
  ['light', { colorScheme: 'light', viewport: { width: 1280, height: 900 } }],
  ['dark', { colorScheme: 'dark', viewport: { width: 1280, height: 900 } }],
  ['phone', { colorScheme: 'light', viewport: { width: 360, height: 740 }, isMobile: true }],
] as const)('is accessible and fits: %s', async (name, options) => {
  const { page } = await visit({ ...options, deviceScaleFactor: 1 });
  await page.screenshot({ path: `${ARTIFACTS}analytics-${name}-sign-in.png` });
  expect(await axe(page)).toEqual([]);
  await signIn(page);
  await page.locator('usage-chart svg').first().waitFor();
  await page.getByText('The 30 days as a table').first().click();
  expect(await axe(page)).toEqual([]);
  await page.getByText('The 30 days as a table').first().click();
  await page.screenshot({ path: `${ARTIFACTS}analytics-${name}.png`, fullPage: true });
  const [content, screen] = await page.evaluate<number[]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  );
  expect(content).toBe(screen);
});

test('can be used with the keyboard alone', async () => {
  const { page } = await visit();
  const focused = () => page.evaluate('document.activeElement.id');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('key');
  await page.keyboard.type(server.apiKey);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Account' }).waitFor();
  // What was asked for is where the reader is now.
  expect(await focused()).toBe('account-heading');
  await page.keyboard.press('Shift+Tab');
  expect(await focused()).toBe('sign-out');
  await page.keyboard.press('Enter');
  expect(await focused()).toBe('key');
  expect(await page.locator('article').count()).toBe(0);
});

test('a wrong key is told, and leaves nothing behind', async () => {
  const { page } = await visit();
  await page.getByLabel('Remember until this tab is closed').check();
  await signIn(page, 'sl_wrong');
  await expect.poll(() => page.getByRole('alert').textContent()).toBe('API key is invalid.');
  await signIn(page, 'schlüssel');
  await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/invalid|characters/);
  expect(await page.locator('#usage').isVisible()).toBe(false);
  expect(await page.evaluate('[sessionStorage.length, localStorage.length]')).toEqual([0, 0]);
});

test('the key is kept in memory, or for the tab when asked, and nowhere else', async () => {
  const { page } = await visit();
  await signIn(page);
  await page.locator('article').first().waitFor();
  expect(await page.locator('#key').inputValue()).toBe('');
  await page.reload();
  expect(await page.locator('#usage').isVisible()).toBe(false);
  await page.getByLabel('Remember until this tab is closed').check();
  await signIn(page);
  await page.locator('article').first().waitFor();
  await page.reload();
  await page.locator('article').first().waitFor();
  expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
  expect(page.url()).toBe(`${server.url}/analytics`);
  await page.getByRole('button', { name: 'Forget the key' }).click();
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
});

test('a service that stops answering is told, and what was shown stays', async () => {
  const { page } = await visit();
  await signIn(page);
  await page.locator('article').first().waitFor();
  await page.route('**/api/v1/usage', (route) => route.abort());
  await page.getByRole('button', { name: 'Refresh' }).click();
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('can not be reached');
  expect(await page.locator('article').count()).toBe(2);
});

test('nothing but the page’s own scripts can run on it', async () => {
  const { page, complaints } = await visit();
  const ran = await page.evaluate(`(async () => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.injected = true';
    document.body.append(script);
    const outside = await fetch('https://example.com/').catch(() => 'refused');
    return { injected: 'injected' in globalThis, outside };
  })()`);
  expect(ran).toEqual({ injected: false, outside: 'refused' });
  expect(complaints.join()).toMatch(/Content Security Policy/);
});
