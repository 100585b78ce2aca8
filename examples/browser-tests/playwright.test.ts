// Playwright: the app of ../browser in a real browser, and the service in this program. No request leaves them, and no server is started.
// A test of @playwright/test does the same with the `page` that it is given.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPageService } from '@shortlink/server/browser';
import { chromium } from 'playwright';

const { APP_URL = 'http://127.0.0.1:5173/', CHROMIUM_PATH: executablePath } = process.env;

test('the form shows a link, and that the plan is full', async () => {
  const service = await startPageService({
    baseUrl: 'http://127.0.0.1:8787',
    limits: { links: 1 },
  });
  const browser = await chromium.launch({ ...(executablePath && { executablePath }) });
  const page = await browser.newPage();
  await page.route(`${service.url}/**`, async (route) => {
    const request = route.request();
    const response = await service.fetch(request.url(), {
      method: request.method(),
      headers: await request.allHeaders(),
      body: request.postData(),
    });
    await route.fulfill({
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    });
  });

  await page.goto(APP_URL);
  await page.getByLabel('Service').fill(service.url);
  await page.getByLabel('API key').fill(service.apiKey);
  for (const shows of [/^http:\/\/127\.0\.0\.1:8787\/\w{7}$/, /1 used, 1 allowed/]) {
    await page.getByLabel('URL').fill('https://example.com/docs');
    await page.getByRole('button').click();
    const output = page.locator('output', { hasText: shows });
    await output.waitFor({ timeout: 10_000 });
    assert.match((await output.textContent()) ?? '', shows);
  }
  await browser.close();
  await service.close();
});
