import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { launchChromium } from '../runtimes/drivers/launch-chromium.ts';
import {
  type Caller,
  createKey,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from '../src/inner-server.ts';
import { savePicture } from '../src/save-picture.ts';

const ARTIFACTS = fileURLToPath(new URL('../artifacts/', import.meta.url));
const AXE = createRequire(import.meta.url).resolve('axe-core');

const DAY = 86_400_000;

/**
 * The service's clock stands still here, at the start of a minute, so that no window ends during a test and no page is close to a
 * refresh. The minutes before it belong to the same day.
 */
const NOW =
  Math.floor(Math.max(Date.now(), Math.floor(Date.now() / DAY) * DAY + 5 * 60_000) / 60_000) *
  60_000;

let server: TestServer;
let browser: Browser;
const cleanup = new AsyncDisposableStack();

beforeAll(async () => {
  server = await serve({
    requests_per_minute: 60,
    requests_per_day: 5_000,
    links: 20_000,
    api_keys: 25,
  });
  await useTheService(server);
  browser = cleanup.use(await launchChromium()).browser;
  await mkdir(ARTIFACTS, { recursive: true });
});
afterAll(() => cleanup.disposeAsync());

async function serve(limits: NonNullable<TestServerOptions['limits']>): Promise<TestServer> {
  const permissions = ['shortlinks:write', 'analytics:read'] as const;
  return cleanup.use(
    await startTestServer({ now: () => NOW, plan: 'custom', limits, permissions }),
  );
}

async function callerOf({ store, apiKey }: TestServer): Promise<Caller> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(apiKey));
  const caller = await store.findKeyByHash(new Uint8Array(hash));
  if (caller === undefined) throw new Error('the key is unknown');
  return caller;
}

const links = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    target_url: `https://example.com/${n}`,
    title: '',
    redirect_type: 302 as const,
    tags: [],
    domain_id: null,
  }));

async function addKey({ store, accountId }: TestServer, name: string): Promise<void> {
  await store.createKey({
    accountId,
    name,
    permissions: ['analytics:read'],
    hash: crypto.getRandomValues(new Uint8Array(32)),
    now: NOW,
  });
}

/** Ten weeks of requests and links with a weekly rhythm, and a minute with more requests than allowed. */
async function useTheService(used: TestServer): Promise<void> {
  const { store } = used;
  const caller = await callerOf(used);
  for (let day = 70; day > 0; day -= 1) {
    const now = NOW - day * DAY;
    const busy = new Date(now).getUTCDay() % 6 === 0 ? 6 : 30 + ((day * 7) % 20);
    for (let n = 0; n < busy; n += 1) await store.admit(caller, now + n * 1_000);
    await store.createBatch({ caller, input: links(busy * 2), now });
  }
  for (let n = 0; n < 75; n += 1) await store.admit(caller, NOW - 3 * 60_000);
  for (let n = 0; n < 52; n += 1) await store.admit(caller, NOW);
  await addKey(used, '<img src=x onerror=alert(1)>');
  await clickLinks(used, caller);
}

/** Twelve links with clicks, some with titles, one with a very long address. */
async function clickLinks({ store }: TestServer, caller: Caller): Promise<void> {
  const titles = [
    'Spring sale',
    '<img src=x onerror=alert(1)>',
    '',
    'Handbook of the whole department, second edition',
  ];
  const input = links(12).map((link, n) => ({
    ...link,
    target_url: n === 2 ? `${link.target_url}/${'long/'.repeat(60)}` : link.target_url,
    title: titles[n % titles.length] ?? '',
  }));
  const batch = await store.createBatch({ caller, input, now: NOW });
  if (!batch.ok) throw new Error(batch.reason);
  const codes = batch.value.map((item) => item.code ?? '');
  await store.addClicks(new Map(codes.map((code, n) => [code, Math.round(31_742 / (n + 1) ** 2)])));
}

interface Visit {
  page: Page;
  /** The requests of the page, and the errors of the browser and of the Content Security Policy. */
  requests: string[];
  complaints: string[];
}

/** Opens the page in a browser context of its own, at the time of the service, and records its requests and errors. */
async function visit(
  options: Parameters<Browser['newContext']>[0] = {},
  { url } = server,
): Promise<Visit> {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  // A page that stays open asks for the usage again and again, and the clock of the service stands still in one minute.
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => complaints.push(dialog.message()));
  await page.clock.setFixedTime(NOW);
  await page.goto(`${url}/analytics`);
  return { page, requests, complaints };
}

async function signIn(page: Page, key = server.apiKey): Promise<void> {
  await page.getByRole('textbox', { name: 'API key' }).fill(key);
  await page.getByRole('button', { name: 'Show usage' }).click();
}

/** Signs in and waits until the figures are there. */
async function lookAt(page: Page, key = server.apiKey): Promise<void> {
  await signIn(page, key);
  await page.getByRole('heading', { name: 'Custom plan' }).waitFor();
}

/** The accessibility problems that axe finds in the page now, by rule and element. */
async function axe(page: Page): Promise<string[]> {
  // Evaluated through the debugger, since the page's policy forbids foreign scripts.
  await page.evaluate(await readFile(AXE, 'utf8'));
  return page.evaluate(async () => {
    const found = await Reflect.get(globalThis, 'axe').run();
    return found.violations.flatMap((rule: { id: string; nodes: { target: string[] }[] }) =>
      rule.nodes.map((node) => `${rule.id} ${node.target.join(' ')}`),
    );
  });
}

test('shows the account, its history, and one key at a time', async () => {
  const { page, requests, complaints } = await visit();
  await lookAt(page);
  const limit = (name: string) => page.locator('#limits li', { hasText: name });
  expect(await limit('Requests this minute').textContent()).toMatch(
    /52 of 60\s+86% used, resets in/,
  );
  expect(await limit('Links in total').textContent()).toMatch(/4,\d\d\d of 20,000\s+2\d% used\s*$/);
  expect((await limit('API keys').textContent())?.trim()).toMatch(/2 of 25$/);
  const readout = page.locator('#account-requests .readout');
  expect(await readout.textContent()).toMatch(/^30 days: [\d,]+ requests, 15 refusals$/);
  await page.getByRole('button', { name: '90 days' }).click();
  expect(await readout.textContent()).toMatch(/^90 days: 2,\d\d\d requests, 15 refusals$/);
  await page.getByText('These days as a table').click();
  expect(await page.locator('#account-days tr').count()).toBe(90);
  expect(await page.locator('.detail').count()).toBe(0);
  await page.getByRole('button', { name: 'test', exact: true }).click();
  const detail = page.locator('.detail');
  expect(await detail.textContent()).toContain('52 this minute');
  expect(await detail.locator('.refusals tbody tr').first().textContent()).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\dRequests a minute15$/,
  );
  // A name is shown as text, also where it looks like HTML.
  await page.getByRole('button', { name: '<img src=x onerror=alert(1)>' }).click();
  expect(await detail.count()).toBe(1);
  expect(await detail.textContent()).toContain('not used in the last 30 days');
  expect(complaints).toEqual([]);
  expect(new Set(requests.map((url) => new URL(url).origin))).toEqual(new Set([server.url]));
});

test('reads the figures of a day with pointer, finger and keyboard', async () => {
  const { page } = await visit({ hasTouch: true });
  await lookAt(page);
  const chart = page.getByRole('slider', { name: 'Requests a day' });
  const readout = page.locator('#account-requests .readout');
  const oneDay = /^[A-Z][a-z]{2} \d+: \d+ requests?, \d+ refusals?$/;
  await chart.hover();
  expect(await readout.textContent()).toMatch(oneDay);
  await page.mouse.move(0, 0);
  expect(await readout.textContent()).toMatch(/^30 days/);
  await chart.tap();
  expect(await readout.textContent()).toMatch(oneDay);
  await chart.focus();
  await page.keyboard.press('End');
  expect(await readout.textContent()).toMatch(/: \d+ requests, 15 refusals$/);
  expect(await chart.getAttribute('aria-valuenow')).toBe('30');
  await page.keyboard.press('ArrowLeft');
  expect(await chart.getAttribute('aria-valuenow')).toBe('29');
  expect(await chart.getAttribute('aria-valuetext')).toBe(await readout.textContent());
  // A pointer that leaves takes back what it chose, not what a key has chosen since.
  await chart.hover();
  await page.keyboard.press('Home');
  await page.mouse.move(0, 0);
  expect(await chart.getAttribute('aria-valuenow')).toBe('1');
  await page.keyboard.press('Escape');
  expect(await readout.textContent()).toMatch(/^30 days/);
});

test('shows the most clicked links, as text whatever they are called', async () => {
  const { page, complaints } = await visit();
  await lookAt(page);
  const rows = page.locator('#top-links-rows tr');
  expect(await rows.count()).toBe(10);
  const [first, second] = [rows.nth(0), rows.nth(1)];
  expect(await first.locator('td').last().textContent()).toBe('31,742');
  expect(await first.textContent()).toContain('Spring sale');
  const link = first.getByRole('link');
  expect(await link.getAttribute('href')).toBe(
    `${server.url}/${(await link.textContent())?.split('/').at(-1)}`,
  );
  expect(await second.textContent()).toContain('<img src=x onerror=alert(1)>');
  expect(complaints).toEqual([]);

  // A key that may only create links sees everything else on the page.
  const writer = await createKey(server.store, {
    accountId: server.accountId,
    name: 'ci',
    permissions: ['shortlinks:write'],
    now: NOW,
  });
  const { page: other } = await visit();
  await lookAt(other, writer.key);
  expect(await other.locator('#top-links').textContent()).toContain(
    'Only keys with the permission analytics:read',
  );
  expect(await other.locator('.top-links').isVisible()).toBe(false);
  await server.store.revokeKey(writer.id, NOW);
});

test('sorts the keys by any column', async () => {
  const { page } = await visit();
  await lookAt(page);
  const names = () => page.locator('.keys .open').allTextContents();
  expect(await names()).toEqual(['test', '<img src=x onerror=alert(1)>']);
  await page.getByRole('button', { name: 'Key', exact: true }).click();
  expect(await names()).toEqual(['<img src=x onerror=alert(1)>', 'test']);
  const heading = page.getByRole('columnheader', { name: 'Key' });
  expect(await heading.getAttribute('aria-sort')).toBe('ascending');
  await page.getByRole('button', { name: 'Key', exact: true }).click();
  expect(await names()).toEqual(['test', '<img src=x onerror=alert(1)>']);
});

test('keeps the focus on the key that was opened, also among keys of one name', async () => {
  const other = await serve({ api_keys: 3 });
  for (const name of ['default', 'default']) await addKey(other, name);
  const { page } = await visit({}, other);
  await lookAt(page, other.apiKey);
  const buttons = page.locator('.keys .open');
  expect(await buttons.allTextContents()).toEqual(['test', 'default', 'default']);
  for (const n of [2, 1, 0]) {
    await buttons.nth(n).click();
    expect(await buttons.nth(n).getAttribute('aria-expanded')).toBe('true');
    expect(await buttons.nth(n).evaluate((button) => button.matches(':focus'))).toBe(true);
  }
});

/** When the tests of the page's own clock begin. */
const START = Date.UTC(2026, 0, 5, 12, 0, 30);

/** Stops the page's clock and timers, so that only the test lets time pass. */
async function stopTime(page: Page): Promise<void> {
  // An installed clock goes on by itself until it is paused.
  await page.clock.install({ time: START - DAY });
  await page.clock.pauseAt(START);
}

/** A response with the usage of an account whose minute ends so many milliseconds after the start. */
function usageOf({ used, endsAfter }: { used: number; endsAfter: number }) {
  const resets_at = new Date(START + endsAfter).toISOString();
  const minute = { used, limit: 60, resets_at };
  const long = { used: 60, limit: 5_000, resets_at: new Date(START + DAY * 9).toISOString() };
  return {
    json: {
      plan: 'custom',
      requests: { minute, day: long, month: long },
      links: { used: 1, limit: null },
      api_keys: { used: 0, limit: 1 },
      batch_size: null,
      keys: [],
    },
  };
}

test('counts down, and asks again when the minute has ended', async () => {
  const { page } = await visit();
  await stopTime(page);
  let asked = 0;
  let used = 60;
  await page.route('**/api/v1/usage', (route) => {
    asked += 1;
    return route.fulfill(usageOf({ used, endsAfter: asked * 60_000 - 30_000 }));
  });
  await lookAt(page);
  const note = page.locator('#limits li').first().locator('.note');
  const notice = page.locator('#notice');
  expect(await note.textContent()).toBe('100% used, resets in 30 s');
  expect(await notice.textContent()).toBe(
    'All 60 requests of this minute are used; more are refused. Resets in 30 s.',
  );
  expect(await page.locator('#limits li').nth(1).textContent()).toContain('resets in 9 days');
  await page.clock.runFor(19_000);
  expect(await note.textContent()).toBe('100% used, resets in 11 s');
  used = 0;
  await page.clock.runFor(12_500);
  await expect.poll(() => asked).toBe(2);
  await expect.poll(() => note.textContent()).toMatch(/^0% used, resets in \d\d s$/);
  expect(await notice.isVisible()).toBe(false);
});

test('asks again after a failure, not before the service wants it, until the key is rejected', async () => {
  const { page } = await visit();
  await stopTime(page);
  const routes: Route[] = [];
  await page.route('**/api/v1/usage', (route) => {
    routes.push(route);
  });
  const refresh = page.locator('#refresh');
  /** Without a response the service can't be reached. */
  const respond = async (response?: Parameters<Route['fulfill']>[0]) => {
    await expect.poll(() => routes.length).toBe(1);
    const route = routes.shift();
    await (response === undefined ? route?.abort() : route?.fulfill(response));
    await expect.poll(() => refresh.isEnabled()).toBe(true);
  };
  /** How long the page waits until its next request, at most 100 seconds. */
  const nextRequestMs = async () => {
    let waitedMs = 0;
    while (waitedMs < 100_000 && (await refresh.isEnabled())) {
      await page.clock.runFor(1_000);
      waitedMs += 1_000;
    }
    return waitedMs;
  };
  await signIn(page);
  await respond(usageOf({ used: 1, endsAfter: 30_000 }));
  expect(await nextRequestMs()).toBe(31_000);
  await respond();
  const alert = page.getByRole('alert');
  expect(await alert.textContent()).toContain('can not be reached');
  const announced = await alert.evaluateHandle((element) => element.firstChild);
  expect(await nextRequestMs()).toBe(10_000);
  await respond();
  // The same words are not announced again.
  expect(await announced.evaluate((text) => text?.isConnected)).toBe(true);
  expect(await nextRequestMs()).toBe(10_000);
  const tooOften = { error: 'Usage can be read 60 times per minute. Try again in 25 s.' };
  await respond({ status: 429, headers: { 'Retry-After': '25' }, json: tooOften });
  expect(await alert.textContent()).toBe(tooOften.error);
  expect(await nextRequestMs()).toBe(25_000);
  await respond(usageOf({ used: 2, endsAfter: 90_000 }));
  expect(await alert.count()).toBe(0);
  expect(await page.locator('#limits li').first().textContent()).toContain('2 of 60');
  expect(await nextRequestMs()).toBe(15_000);
  await respond({ status: 401, json: { error: 'API key has expired.' } });
  expect(await alert.textContent()).toBe('API key has expired.');
  expect(await nextRequestMs()).toBe(100_000);
});

const DESKTOP = { width: 1280, height: 900 };

test.each([
  ['light', { colorScheme: 'light', viewport: DESKTOP }],
  ['dark', { colorScheme: 'dark', viewport: DESKTOP }],
  ['phone', { colorScheme: 'light', viewport: { width: 390, height: 844 }, isMobile: true }],
  ['small', { colorScheme: 'dark', viewport: { width: 320, height: 640 }, isMobile: true }],
] as const)('is accessible and fits: %s', async (name, options) => {
  const { page } = await visit({ ...options, deviceScaleFactor: 1 });
  await savePicture(page, { path: `${ARTIFACTS}analytics-${name}-sign-in.png` });
  expect(await axe(page)).toEqual([]);
  await lookAt(page);
  await page.getByRole('button', { name: 'test', exact: true }).click();
  await page.getByText('These days as a table').click();
  expect(await axe(page)).toEqual([]);
  await page.getByText('These days as a table').click();
  await savePicture(page, { path: `${ARTIFACTS}analytics-${name}.png`, fullPage: true });
  await expectToFit(page);
});

async function expectToFit(page: Page): Promise<void> {
  const [content, screen] = await page.evaluate<number[]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  );
  expect(content).toBe(screen);
}

/** Accounts in states that the page explains in words. */
const SCENES: Record<string, () => Promise<TestServer>> = {
  empty: () => serve({ links: 15, api_keys: 1 }),
  'at-limit': async () => {
    const full = await serve({ links: 15, api_keys: 1, requests_per_minute: 10 });
    const caller = await callerOf(full);
    await full.store.createBatch({ caller, input: links(15), now: NOW });
    await full.store.admit(caller, NOW);
    return full;
  },
  'many-keys': async () => {
    const busy = await serve({ links: 1_000, api_keys: 25 });
    for (let n = 1; n < 25; n += 1) await addKey(busy, `Team ${n}`);
    await busy.store.admit(await callerOf(busy), NOW);
    return busy;
  },
};

test.each(Object.keys(SCENES))('has words for an account: %s', async (name) => {
  const other = await SCENES[name]?.();
  if (other === undefined) throw new Error('no such scene');
  const context = await browser.newContext({
    locale: 'en-US',
    viewport: DESKTOP,
    colorScheme: 'light',
  });
  // A page that stays open asks for the usage again and again, and the clock of the service stands still in one minute.
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(`${other.url}/analytics`);
  await lookAt(page, other.apiKey);
  await savePicture(page, { path: `${ARTIFACTS}analytics-${name}.png`, fullPage: true });
  expect(await axe(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  await savePicture(page, { path: `${ARTIFACTS}analytics-${name}-phone.png`, fullPage: true });
  expect(await axe(page)).toEqual([]);
  await expectToFit(page);
  const text = (await page.locator('main').textContent()) ?? '';
  const height = await page.evaluate<number>('document.documentElement.scrollHeight');
  if (name === 'empty') {
    expect(await page.locator('#history').isVisible()).toBe(false);
    expect(await page.locator('#top-links').isVisible()).toBe(false);
    expect(text).toContain(`npx @shortlink/cli auth login --base-url ${other.url}`);
    // An account that may have one key always uses that one, which is no reason to warn.
    const meter = page.locator('#limits li', { hasText: 'API keys' }).locator('svg');
    expect(await meter.getAttribute('class')).toBe('neutral');
  }
  if (name === 'at-limit') {
    expect(await page.locator('#top-links').textContent()).toContain('No link was clicked yet.');
    expect(await page.locator('#notice').textContent()).toContain(
      'All 15 links of the plan are used. New links are refused; the existing ones keep working.',
    );
  }
  if (name === 'many-keys') {
    expect(await page.locator('.keys .open').count()).toBe(25);
    expect(height).toBeLessThan(4_000);
  }
});

test('can be used with the keyboard alone', async () => {
  const { page } = await visit();
  const focused = () => page.evaluate('document.activeElement.id');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('key');
  await page.keyboard.type(server.apiKey);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Custom plan' }).waitFor();
  // After signing in, the focus is at the heading of the account.
  expect(await focused()).toBe('account-heading');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('refresh');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('sign-out');
  await page.keyboard.press('Enter');
  expect(await focused()).toBe('key');
  expect(await page.locator('.keys').count()).toBe(0);
});

test('keeps the focus on the button while it refreshes, and refreshes once', async () => {
  const { page } = await visit();
  await lookAt(page);
  const routes: Route[] = [];
  await page.route('**/api/v1/usage', (route) => {
    routes.push(route);
  });
  const refresh = page.getByRole('button', { name: 'Refresh' });
  await refresh.focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => refresh.isEnabled()).toBe(false);
  await page.keyboard.press('Enter');
  await expect.poll(() => routes.length).toBe(1);
  await routes[0]?.continue();
  await expect.poll(() => refresh.isEnabled()).toBe(true);
  expect(routes).toHaveLength(1);
  expect(await page.evaluate('document.activeElement.id')).toBe('refresh');
});

test('a wrong key is reported, and leaves nothing behind', async () => {
  const { page } = await visit();
  await page.getByLabel('Remember until this tab is closed').check();
  await signIn(page, 'sl_wrong');
  await expect.poll(() => page.getByRole('alert').textContent()).toBe('API key is invalid.');
  expect(await page.evaluate('document.activeElement.id')).toBe('key');
  await savePicture(page, { path: `${ARTIFACTS}analytics-wrong-key.png` });
  await signIn(page, 'schlüssel');
  await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/invalid|characters/);
  expect(await page.locator('#usage').isVisible()).toBe(false);
  expect(await page.evaluate('[sessionStorage.length, localStorage.length]')).toEqual([0, 0]);
});

test('the key is kept in memory, or for the tab when asked, and nowhere else', async () => {
  const { page } = await visit();
  await lookAt(page);
  expect(await page.locator('#key').inputValue()).toBe('');
  await page.reload();
  expect(await page.locator('#usage').isVisible()).toBe(false);
  await page.getByLabel('Remember until this tab is closed').check();
  await lookAt(page);
  await page.reload();
  await page.locator('.keys').waitFor();
  expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
  expect(page.url()).toBe(`${server.url}/analytics`);
  await page.getByRole('button', { name: 'Forget the key' }).click();
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
});

test.each([
  ['kept', 'the service is away', { status: 503, json: { error: 'Try again in a moment.' } }],
  ['kept', 'there are too many requests', { status: 429, json: { error: 'Try again in 9 s.' } }],
  ['kept', 'a firewall rejects the request', { status: 403, body: 'Forbidden' }],
  ['forgotten', 'it is invalid', { status: 401, json: { error: 'API key is invalid.' } }],
  [
    'forgotten',
    'the account is disabled',
    { status: 403, json: { error: 'This account is disabled.', code: 'account_disabled' } },
  ],
])('the remembered key is %s when %s', async (outcome, _, response) => {
  const { page } = await visit();
  const stored = () => page.evaluate('sessionStorage.length');
  await page.getByLabel('Remember until this tab is closed').check();
  await lookAt(page);
  await page.route('**/api/v1/usage', (route) => route.fulfill(response));
  await page.reload();
  await page.getByRole('alert').waitFor();
  expect(await stored()).toBe(outcome === 'kept' ? 1 : 0);
  expect(await page.locator('#usage').isVisible()).toBe(false);
  // The key is still in the field, as one that was just typed, so the button tries it again.
  await page.unroute('**/api/v1/usage');
  await page.getByRole('button', { name: 'Show usage' }).click();
  await page.getByRole('heading', { name: 'Custom plan' }).waitFor();
  expect(await stored()).toBe(1);
  expect(await page.locator('#key').inputValue()).toBe('');
});

test('a remembered key that could not be tried can be forgotten', async () => {
  const { page } = await visit();
  const remember = page.getByLabel('Remember until this tab is closed');
  await remember.check();
  await lookAt(page);
  await page.route('**/api/v1/usage', (route) => route.abort());
  await page.reload();
  await page.getByRole('alert').waitFor();
  await remember.uncheck();
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
});

test.each([
  ['a response', (route: Route) => route.continue()],
  ['a failure', (route: Route) => route.abort()],
])('ignores %s that comes after the key is forgotten', async (_, end) => {
  const { page } = await visit();
  await lookAt(page);
  const held = Promise.withResolvers<Route>();
  await page.route('**/api/v1/usage', (route) => held.resolve(route));
  await page.getByRole('button', { name: 'Refresh' }).click();
  const route = await held.promise;
  const ended = Promise.withResolvers<unknown>();
  page.on('requestfinished', ended.resolve).on('requestfailed', ended.resolve);
  await page.getByRole('button', { name: 'Forget the key' }).click();
  await end(route);
  await ended.promise;
  // What the page had to do with the other request is done when this one has a response.
  await page.unroute('**/api/v1/usage');
  await page.evaluate('fetch("/api/v1/usage").then((response) => response.text())');
  expect(await page.locator('#usage').isVisible()).toBe(false);
  expect(await page.locator('#limits li').count()).toBe(0);
  expect(await page.getByRole('alert').count()).toBe(0);
  await lookAt(page);
});

test('leaves nothing of the account in the page when the key is forgotten', async () => {
  const { page } = await visit();
  const content = () => page.locator('#usage').innerHTML();
  const empty = await content();
  await lookAt(page);
  await page.getByRole('button', { name: 'test', exact: true }).click();
  await page.route('**/api/v1/usage', (route) => route.abort());
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByRole('button', { name: 'Forget the key' }).click();
  expect(await content()).toBe(empty);
  // The charts are drawn again for the next account.
  await page.unroute('**/api/v1/usage');
  await lookAt(page);
  expect(await page.locator('#account-requests .readout').textContent()).toMatch(/^30 days/);
});

test('a service that stops responding is reported, and what was shown stays', async () => {
  const { page } = await visit();
  await lookAt(page);
  await page.route('**/api/v1/usage', (route) => route.abort());
  await page.getByRole('button', { name: 'Refresh' }).click();
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('can not be reached');
  expect(await page.locator('.keys .open').count()).toBe(2);
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
