import { join } from 'node:path';
import { expect, it } from 'vitest';
import { launchChromium } from '../runtimes/drivers/launch-chromium.ts';
import { compiler } from '../src/compilers.ts';
import { createConsumer } from '../src/consumer.ts';
import { runCommand } from '../src/run-command.ts';
import { serveVitePage } from '../src/vite-page.ts';
import { World } from '../src/world.ts';

it('the packed SDK runs in a Vite app, in Chromium, under a policy without unsafe-eval', async () => {
  await using consumer = await createConsumer();
  await using world = await World.create();
  await using launched = await launchChromium();
  const root = join(consumer.folder, 'vite-app');
  // Vite itself checks no types.
  await runCommand(process.execPath, [compiler('7')], { cwd: root });
  await using served = await serveVitePage(root);
  const { key } = await world.caller('custom');

  const page = await launched.browser.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => problems.push(message.text()));
  await page.exposeFunction('violated', (directive: string) => problems.push(directive));
  await page.addInitScript(
    "addEventListener('securitypolicyviolation', (event) => violated(event.effectiveDirective))",
  );
  const query = new URLSearchParams({ service: world.server.url, key });
  await page.goto(`${served.url}?${query}`);
  const output = page.locator('output', { hasText: 'created' });
  await output.waitFor({ timeout: 20_000 }).catch(() => undefined);
  expect(problems).toEqual([]);
  expect(await output.textContent()).toBe('101 created');
});
