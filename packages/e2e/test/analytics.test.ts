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
import { isNight } from '../src/is-night.ts';
import { savePicture } from '../src/save-picture.ts';

const ARTIFACTS = fileURLToPath(new URL('../artifacts/', import.meta.url));
const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

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

/** The buttons that open a key. */
const keyButtons = (page: Page) => page.locator('.keys tbody .open');

const limitOf = (page: Page, name: string) => page.locator('#limits li', { hasText: name });

/** The accessibility problems that axe finds in the page now, by rule and element. */
async function axe(page: Page): Promise<string[]> {
  // Evaluated through the debugger, since the page's policy forbids foreign scripts.
  if (await page.evaluate("!('axe' in globalThis)")) await page.evaluate(AXE);
  return page.evaluate(async () => {
    const found = await Reflect.get(globalThis, 'axe').run({ resultTypes: ['violations'] });
    return found.violations.flatMap((rule: { id: string; nodes: { target: string[] }[] }) =>
      rule.nodes.map((node) => `${rule.id} ${node.target.join(' ')}`),
    );
  });
}

test('shows the account, its history, and one key at a time', async () => {
  const { page, requests, complaints } = await visit();
  await lookAt(page);
  const limit = (name: string) => limitOf(page, name);
  expect(await limit('Requests this minute').textContent()).toMatch(
    /52 of 60\s*86% used, resets (in|now)/,
  );
  expect(await limit('Links in total').textContent()).toMatch(/4,\d\d\d of 20,000\s*2\d% used\s*$/);
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
  expect(await other.locator('.keys').isVisible()).toBe(true);
  expect(await other.locator('#top-links').count()).toBe(0);
  await server.store.revokeKey(writer.id, NOW);
});

test('sorts the keys by any column', async () => {
  const { page } = await visit();
  await lookAt(page);
  const names = () => keyButtons(page).allTextContents();
  expect(await names()).toEqual(['test', '<img src=x onerror=alert(1)>']);
  await page.getByRole('button', { name: 'Key', exact: true }).click();
  expect(await names()).toEqual(['<img src=x onerror=alert(1)>', 'test']);
  const heading = page.getByRole('columnheader', { name: 'Key' });
  expect(await heading.getAttribute('aria-sort')).toBe('ascending');
  await page.getByRole('button', { name: 'Key', exact: true }).click();
  expect(await names()).toEqual(['test', '<img src=x onerror=alert(1)>']);
});

test('says the year of a day that is not in this one', async () => {
  const other = await serve({ api_keys: 3 });
  const { store, accountId } = other;
  const known = { accountId, name: 'old', permissions: ['analytics:read'] } as const;
  const [createdAt, expiresAt] = [NOW - 800 * DAY, NOW + 800 * DAY];
  await createKey(store, { ...known, expiresAt, now: createdAt });
  const { page } = await visit({}, other);
  await lookAt(page, other.apiKey);
  await page.getByRole('button', { name: 'old' }).click();
  const facts = page.locator('.facts');
  const year = (ms: number) => new Date(ms).getUTCFullYear();
  expect(await facts.textContent()).toMatch(
    new RegExp(`Created\\w+ \\d+, ${year(createdAt)}Expires\\w+ \\d+, ${year(expiresAt)}Last used`),
  );
  await page.getByRole('button', { name: 'test', exact: true }).click();
  expect(await facts.textContent()).toMatch(/Created\w+ \d{1,2}Last used/);
});

test('keeps the focus on the key that was opened, also among keys of one name', async () => {
  const other = await serve({ api_keys: 3 });
  for (const name of ['default', 'default']) await addKey(other, name);
  const { page } = await visit({}, other);
  await lookAt(page, other.apiKey);
  const buttons = keyButtons(page);
  expect(await buttons.allTextContents()).toEqual(['test', 'default', 'default']);
  for (const n of [2, 1, 0]) {
    await buttons.nth(n).click();
    expect(await buttons.nth(n).getAttribute('aria-expanded')).toBe('true');
    expect(await buttons.nth(n).evaluate((button) => button.matches(':focus'))).toBe(true);
  }
});

test('folds two keys without use into one row', async () => {
  const other = await serve({ api_keys: 3 });
  for (const name of ['second', 'third']) await addKey(other, name);
  await other.store.admit(await callerOf(other), NOW);
  const { page } = await visit({}, other);
  await lookAt(page, other.apiKey);
  const fold = page.locator('.keys .fold');
  expect(await fold.allTextContents()).toEqual(['test', '2 keys without use in 30 days']);
  await fold.last().click();
  const names = await keyButtons(page).allTextContents();
  expect(names).toEqual(expect.arrayContaining(['test', 'second', 'third']));
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
      history: [],
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
  const note = limitOf(page, 'Requests this minute').locator('.note');
  const notice = page.locator('#notice');
  expect(await note.textContent()).toBe('100% used, resets in 30 s');
  expect(await notice.textContent()).toBe(
    'All 60 requests of this minute are used; more are refused. It resets in 30 s.',
  );
  expect(await limitOf(page, 'Requests today').textContent()).toContain('resets in 9 days');
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
  expect(await limitOf(page, 'Requests this minute').textContent()).toContain('2 of 60');
  expect(await nextRequestMs()).toBe(15_000);
  await respond({ status: 401, json: { error: 'API key has expired.' } });
  expect(await alert.textContent()).toBe('API key has expired.');
  expect(await nextRequestMs()).toBe(100_000);
});

const DESKTOP = { width: 1280, height: 900 };

const LOOKS = [
  ['light', { colorScheme: 'light', viewport: DESKTOP }],
  ['small', { colorScheme: 'dark', viewport: { width: 320, height: 640 }, isMobile: true }],
  ['dark', { colorScheme: 'dark', viewport: DESKTOP }],
  ['phone', { colorScheme: 'light', viewport: { width: 360, height: 740 }, isMobile: true }],
] as const;

// The first two have both themes and both ends of the widths; each night has the other pairs too.
test.each(isNight ? LOOKS : LOOKS.slice(0, 2))(
  'is accessible and fits: %s',
  async (name, options) => {
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
  },
);

async function expectToFit(page: Page): Promise<void> {
  const [content, screen] = await page.evaluate<number[]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  );
  expect(content).toBe(screen);
}

/** The largest number that a limit, or a count of clicks that is moved in, can have. */
const LARGEST = 999_999_999_999_999;

/** A usage with the largest totals and limits, and a billion of what each day has. */
function enlarged(usage: object): object {
  const isOfDays = (name: string) =>
    /^(?:requests|refused|links|count|minute|day|month)$/.test(name);
  return JSON.parse(JSON.stringify(usage), (name, value) => {
    if (typeof value !== 'number') return value;
    return isOfDays(name) ? 999_999_999 : LARGEST;
  });
}

test.each([320, 640, 641, 1280])(
  'has room for the largest numbers at a width of %d',
  async (width) => {
    const { page } = await visit({ viewport: { width, height: 740 }, deviceScaleFactor: 1 });
    await page.route('**/api/v1/usage', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: enlarged(await response.json()) });
    });
    await lookAt(page);
    await page.getByRole('button', { name: 'test', exact: true }).click();
    await page.getByText('These days as a table').click();
    await savePicture(page, { path: `${ARTIFACTS}analytics-numbers-${width}.png`, fullPage: true });
    await expectToFit(page);
    // What is wider than its place would stand over its neighbour.
    const wide = await page
      .locator('.limit, .card, td, th')
      .evaluateAll((places) =>
        places
          .filter((place) => place.scrollWidth > place.clientWidth)
          .map((place) => place.outerHTML),
      );
    expect(wide).toEqual([]);
  },
);

/** Accounts in states that the page explains in words. */
const SCENES: Record<string, () => Promise<TestServer>> = {
  empty: () => serve({ links: 15, api_keys: 1 }),
  'at-limit': async () => {
    const full = await serve({ links: 15, api_keys: 1, requests_per_minute: 10 });
    const caller = await callerOf(full);
    await full.store.createBatch({ caller, input: links(15), now: NOW });
    for (let n = 0; n < 10; n += 1) await full.store.admit(caller, NOW);
    return full;
  },
  'many-keys': async () => {
    const busy = await serve({ links: 1_000, api_keys: 25 });
    for (let n = 2; n < 25; n += 1) await addKey(busy, `Team ${n}`);
    await addKey(busy, `deployment-of-the-${'very-'.repeat(8)}long-name`);
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
  await page.setViewportSize({ width: 360, height: 740 });
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
    const meter = limitOf(page, 'API keys').locator('svg');
    expect(await meter.getAttribute('class')).toBe('meter neutral');
  }
  if (name === 'at-limit') {
    expect(await page.locator('#top-links').textContent()).toContain('No link was clicked yet.');
    // The minute is used up as well; what lasts is said first, and what to do about it.
    expect(await limitOf(page, 'Requests this minute').textContent()).toContain('100% used');
    expect(await page.locator('#notice').textContent()).toMatch(
      /^\s*All 15 links of the plan are used\. New links are refused; the existing ones keep working\. For more, ask/,
    );
  }
  if (name === 'many-keys') {
    // The keys that nobody uses are one row until someone wants them.
    expect(await keyButtons(page).count()).toBe(1);
    expect(height).toBeLessThan(2_500);
    await page.getByRole('button', { name: '24 keys without use in 30 days' }).click();
    expect(await keyButtons(page).count()).toBe(25);
    await page.setViewportSize({ width: 320, height: 640 });
    await savePicture(page, { path: `${ARTIFACTS}analytics-${name}-small.png`, fullPage: true });
    await expectToFit(page);
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
  expect(await focused()).toBe('pause');
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

/** What the page holds in the browser, after a collection. Chromium counts what JavaScript still refers to. */
async function held(page: Page): Promise<{ nodes: number; listeners: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
  await session.detach();
  return { nodes, listeners: jsEventListeners };
}

test('focus, selection, chosen day and open key survive 20 refreshes, which leave nothing behind', async () => {
  const { page } = await visit({ viewport: DESKTOP });
  await lookAt(page);
  const refresh = async (times: number) => {
    for (let n = 0; n < times; n += 1) {
      const answered = page.waitForResponse('**/api/v1/usage');
      await page.evaluate('document.getElementById("refresh").click()');
      await answered;
      await expect.poll(() => page.locator('#refresh').isEnabled()).toBe(true);
    }
  };
  await page.getByRole('button', { name: '90 days' }).click();
  await page.getByRole('button', { name: 'test', exact: true }).click();
  await page.evaluate('getSelection().selectAllChildren(document.querySelector("#keys-heading"))');
  const chart = page.getByRole('slider', { name: 'Requests a day' });
  await chart.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  const seen = () =>
    page.evaluate(`[document.activeElement.ariaLabel, getSelection().toString(),
      document.querySelector('#account-requests .readout').textContent, document.querySelectorAll('.detail').length]`);
  const before = await seen();
  expect(before).toEqual([
    'Requests a day',
    'API keys',
    expect.stringMatching(/^[A-Z][a-z]{2} \d+: /),
    1,
  ]);
  await refresh(2);
  const start = await held(page);
  await refresh(20);
  expect(await seen()).toEqual(before);
  const end = await held(page);
  expect(end.nodes - start.nodes).toBeLessThan(50);
  expect(end.listeners - start.listeners).toBeLessThan(20);
  // A row of the keys keeps the focus too, and so does a button in the middle of the page.
  const key = page.getByRole('button', { name: 'test', exact: true });
  await key.focus();
  await refresh(1);
  expect(await key.evaluate((button) => button.matches(':focus'))).toBe(true);
});

test('names a service that accepts the request and never responds, and can be asked again', async () => {
  const { page } = await visit();
  await stopTime(page);
  const routes: Route[] = [];
  await page.route('**/api/v1/usage', (route) => {
    routes.push(route);
  });
  await signIn(page);
  await expect.poll(() => routes.length).toBe(1);
  await page.clock.runFor(14_000);
  expect(await page.getByRole('alert').count()).toBe(0);
  await page.clock.runFor(1_000);
  const alert = page.getByRole('alert');
  await expect.poll(() => alert.textContent()).toBe('The service has not responded for 15 s.');
  await page.getByRole('button', { name: 'Show usage' }).click();
  await expect.poll(() => routes.length).toBe(2);
  await routes[1]?.fulfill(usageOf({ used: 3, endsAfter: 40_000 }));
  await page.getByRole('heading', { name: 'Custom plan' }).waitFor();
  // The same while figures are shown: they stay, and no wait stands still.
  await page.clock.runFor(30_000);
  await expect.poll(() => routes.length).toBe(3);
  expect(await limitOf(page, 'Requests this minute').textContent()).toContain('resets now');
  await page.clock.runFor(15_000);
  await expect.poll(() => alert.textContent()).toBe('The service has not responded for 15 s.');
  expect(await limitOf(page, 'Requests this minute').textContent()).toContain('3 of 60');
  expect(await page.locator('#refresh').isEnabled()).toBe(true);
  await savePicture(page, { path: `${ARTIFACTS}analytics-server-gone.png` });
});

test('stands still while it is paused, and asks at once when that ends', async () => {
  const { page } = await visit();
  await stopTime(page);
  let asked = 0;
  await page.route('**/api/v1/usage', (route) => {
    asked += 1;
    return route.fulfill(usageOf({ used: asked, endsAfter: asked * 60_000 }));
  });
  await lookAt(page);
  await page.getByRole('button', { name: 'Pause updates' }).click();
  const limits = page.locator('#limits');
  const shown = await limits.textContent();
  expect(shown).toContain('resets at 12:01 UTC');
  await page.clock.runFor(300_000);
  expect(await limits.textContent()).toBe(shown);
  expect(await page.locator('#status').textContent()).toContain('paused');
  expect(asked).toBe(1);
  await page.getByRole('button', { name: 'Resume updates' }).click();
  await expect.poll(() => asked).toBe(2);
});

test('a long title that is read from right to left keeps its beginning', async () => {
  const { page } = await visit();
  await stopTime(page);
  const { json } = usageOf({ used: 1, endsAfter: 60_000 });
  const link = { code: 'a', short_url: 'https://sho.rt/a', target_url: 'https://x.example' };
  const title = 'مرحبا بالعالم '.repeat(15);
  const top_links = [{ ...link, title, click_count: 1 }];
  await page.route('**/api/v1/usage', (route) => route.fulfill({ json: { ...json, top_links } }));
  await lookAt(page);
  const direction = "getComputedStyle(document.querySelector('.top-links .cut')).direction";
  expect(await page.evaluate(direction)).toBe('rtl');
});

test('counts days by the clock of the service, in UTC', async () => {
  const { page } = await visit({ timezoneId: 'Pacific/Auckland' });
  await stopTime(page);
  // The service is 13 hours ahead: there it is the next day already.
  const ahead = START + 13 * 3_600_000;
  const today = new Date(ahead).toISOString().slice(0, 10);
  const { json } = usageOf({ used: 1, endsAfter: 14 * 3_600_000 });
  const history = [{ date: today, requests: 7, refused: 0, links: 0 }];
  await page.route('**/api/v1/usage', (route) =>
    route.fulfill({
      // Requests without a link are a history, too.
      json: { ...json, links: { used: 0, limit: null }, account_name: 'Acme', history },
      headers: { Date: new Date(ahead).toUTCString() },
    }),
  );
  await lookAt(page);
  expect(await page.locator('#account-heading').textContent()).toBe('Acme · Custom plan');
  expect(await page.title()).toBe('Acme · Usage · Shortlink');
  expect(await page.locator('#history').textContent()).toContain('Days in UTC');
  const chart = page.getByRole('slider', { name: 'Requests a day' });
  await chart.focus();
  await page.keyboard.press('End');
  expect(await chart.getAttribute('aria-valuetext')).toBe('Jan 6: 7 requests, 0 refusals');
  expect(await page.locator('#account-requests .date').first().textContent()).toBe('today');
  // One clock for everything: a minute of the service's today is not called by its date.
  const status = page.locator('#status');
  expect(await status.textContent()).toBe('As of 01:00 UTC');
  await page.getByRole('button', { name: 'Pause updates' }).click();
  expect(await status.textContent()).toBe('As of 01:00 UTC, paused');
  expect(await limitOf(page, 'Requests this minute').textContent()).toContain(
    'resets at 02:00 UTC',
  );
});

test('prints every day, and keeps the legend where the visitor’s own colours rule', async () => {
  const { page } = await visit();
  await lookAt(page);
  const days = page.locator('#account-days tr');
  expect(await days.first().isVisible()).toBe(false);
  await page.emulateMedia({ media: 'print' });
  expect(await days.count()).toBe(30);
  expect(await days.last().isVisible()).toBe(true);
  expect(await page.locator('#refresh').isVisible()).toBe(false);
  await page.emulateMedia({ media: 'screen', forcedColors: 'active' });
  const colors = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.legend .swatch')].map((swatch) => getComputedStyle(swatch).backgroundColor)`,
  );
  const [counted, refused] = colors;
  expect(counted).not.toBe(refused);
  expect(
    await page.evaluate('getComputedStyle(document.querySelector(".bar.requests")).fill'),
  ).toBe(counted);
  await savePicture(page, { path: `${ARTIFACTS}analytics-forced-colors.png`, fullPage: true });
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

test.each([
  ['<!doctype html><title>Sign in</title>', 'text/html'],
  ['null', 'application/json'],
])('says that something else has responded: %s', async (body, contentType) => {
  const { page } = await visit();
  await page.route('**/api/v1/usage', (route) => route.fulfill({ body, contentType }));
  await signIn(page);
  await expect
    .poll(() => page.getByRole('alert').textContent())
    .toBe('Something else than the service has responded, such as a proxy that asks to sign in.');
});

test('the key is kept in memory, or for the tab when asked, and nowhere else', async () => {
  const { page } = await visit();
  await lookAt(page);
  expect(await page.locator('#key').count()).toBe(0);
  await page.reload();
  expect(await page.locator('#usage').isVisible()).toBe(false);
  await page.getByLabel('Remember until this tab is closed').check();
  await lookAt(page);
  await page.reload();
  await page.locator('.keys').waitFor();
  expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
  expect(page.url()).toBe(`${server.url}/analytics`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
});

test('a browser that keeps nothing for any page shows the account, and remembers no key', async () => {
  const { page, complaints } = await visit();
  // Chromium with all cookies blocked.
  await page.addInitScript(() => {
    const get = () => {
      throw new DOMException('Access is denied for this document.', 'SecurityError');
    };
    Object.defineProperty(globalThis, 'sessionStorage', { get });
  });
  await page.reload();
  await page.getByLabel('Remember until this tab is closed').check();
  await lookAt(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  expect(complaints).toEqual([]);
});

/** Why a remembered key can't be tried, and what becomes of it. */
const REFUSALS: [outcome: 'kept' | 'forgotten', cause: string, Parameters<Route['fulfill']>[0]][] =
  [
    ['kept', 'the service is away', { status: 503, json: { error: 'Try again in a moment.' } }],
    ['kept', 'there are too many requests', { status: 429, json: { error: 'Try again in 9 s.' } }],
    ['kept', 'a firewall rejects the request', { status: 403, body: 'Forbidden' }],
    ['forgotten', 'it is invalid', { status: 401, json: { error: 'API key is invalid.' } }],
    [
      'forgotten',
      'the account is disabled',
      { status: 403, json: { error: 'This account is disabled.', code: 'account_disabled' } },
    ],
  ];

// On one page, which is loaded anew for each.
test('the remembered key is kept where it may still be good, and else forgotten', async () => {
  const { page } = await visit();
  const stored = () => page.evaluate('sessionStorage.length');
  await page.getByLabel('Remember until this tab is closed').check();
  await lookAt(page);
  for (const [outcome, cause, response] of REFUSALS) {
    expect(await stored(), cause).toBe(1);
    await page.route('**/api/v1/usage', (route) => route.fulfill(response));
    await page.reload();
    await page.getByRole('alert').waitFor();
    expect(await stored(), cause).toBe(outcome === 'kept' ? 1 : 0);
    expect(await page.locator('#usage').isVisible(), cause).toBe(false);
    // The key is still in the field, as one that was just typed, so the button tries it again.
    await page.unroute('**/api/v1/usage');
    await page.getByRole('button', { name: 'Show usage' }).click();
    await page.getByRole('heading', { name: 'Custom plan' }).waitFor();
    expect(await page.locator('#key').count(), cause).toBe(0);
  }
  expect(await stored()).toBe(1);
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
])('ignores %s that comes after signing out', async (_, end) => {
  const { page } = await visit();
  await lookAt(page);
  const held = Promise.withResolvers<Route>();
  await page.route('**/api/v1/usage', (route) => held.resolve(route));
  await page.getByRole('button', { name: 'Refresh' }).click();
  const route = await held.promise;
  const ended = Promise.withResolvers<unknown>();
  page.on('requestfinished', ended.resolve).on('requestfailed', ended.resolve);
  await page.getByRole('button', { name: 'Sign out' }).click();
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

test('leaves nothing of the account in the page after signing out', async () => {
  const { page } = await visit();
  const content = () => page.locator('main').innerHTML();
  const empty = await content();
  await lookAt(page);
  await page.getByRole('button', { name: 'test', exact: true }).click();
  await page.route('**/api/v1/usage', (route) => route.abort());
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  expect(await content()).toBe(empty);
  expect(await page.title()).toBe('Usage · Shortlink');
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
  expect(await keyButtons(page).count()).toBe(2);
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
