/**
 * Records the pictures of the README and the site, from the built programs: `pnpm build && pnpm docs:pictures`. An import in a
 * terminal, wide and narrow, and the usage page, light and dark.
 */
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawn } from '@lydell/node-pty';
import { launchChromium } from '../runtimes/drivers/launch-chromium.ts';
import { startTestServer } from '../src/inner-server.ts';
import { CLI_PROGRAM } from '../src/programs.ts';
import { cleanEnvironment } from '../src/run-program.ts';
import { screenSvg } from '../src/screen-svg.ts';
import { World } from '../src/world.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const PICTURES = path('../../docs/pictures/');
const DATA = path('../../../examples/data/us-federal-sites.csv');
const DAY_MS = 86_400_000;

await recordImport('import.svg', 92);
await recordImport('import-narrow.svg', 50);
await recordUsagePage();
await recordPreview();

/** The same command twice: the first run creates every link, the second one nothing. */
async function recordImport(name: string, columns: number): Promise<void> {
  await using world = await World.create();
  const { key } = await world.caller('custom');
  await copyFile(DATA, world.path('sites.csv'));
  const env = { SHORTLINK_API_KEY: key, SHORTLINK_BASE_URL: world.server.url };
  const args = ['import', 'sites.csv', '--map', 'target_url=URL', '--map', 'title=Domain'];
  let written = '';
  for (const run of [1, 2]) {
    written += `${run === 1 ? '' : '\r\n'}\x1b[2m$\x1b[22m \x1b[1mshortlink ${args.join(' ')}\x1b[22m\r\n`;
    written += await runInTerminal(args, world.folder, columns, env);
  }
  const shown = written
    .replaceAll(world.server.url, 'https://sho.rt')
    .replaceAll(world.folder, '.');
  await writeFile(join(PICTURES, name), await screenSvg(shown, columns, 'shortlink import, twice'));
}

/** Runs `shortlink` in a pseudo-terminal and resolves to everything that it wrote. */
function runInTerminal(
  args: readonly string[],
  cwd: string,
  columns: number,
  env: Record<string, string>,
): Promise<string> {
  const { CI: _, NO_COLOR: __, ...inherited } = cleanEnvironment();
  const terminal = spawn(process.execPath, [CLI_PROGRAM, ...args], {
    cols: columns,
    rows: 40,
    name: 'xterm-256color',
    cwd,
    env: { ...inherited, TERM: 'xterm-256color', ...env },
  });
  let output = '';
  terminal.onData((text) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    terminal.onExit(({ exitCode }) => {
      if (exitCode === 0) resolve(output);
      else reject(new Error(`shortlink ended with exit code ${exitCode}:\n${output}`));
    });
  });
}

/** Photographs the page of an account that has used the service for ten weeks. */
async function recordUsagePage(): Promise<void> {
  // The page counts down from the time that responses carry, which is the machine's.
  const today = new Date().setUTCSeconds(20, 0);
  await using server = await startTestServer({ plan: 'avance', now: () => today });
  const { store, apiKey } = server;
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(apiKey));
  const caller = await store.findKeyByHash(new Uint8Array(hash));
  if (caller === undefined) throw new Error('The key is unknown.');
  for (let day = 70; day >= 0; day -= 1) {
    const now = today - day * DAY_MS;
    const isWeekend = day > 0 && new Date(now).getUTCDay() % 6 === 0;
    const requests = isWeekend ? 9 : 34 + ((day * 7) % 23);
    for (let n = 0; n < requests; n += 1) await store.admit(caller, now + n * 500);
    const input = Array.from({ length: requests }, (_, n) => ({
      target_url: `https://example.com/${day}/${n}`,
      title: '',
      redirect_type: 302 as const,
      tags: [],
      domain_id: null,
    }));
    await store.createBatch({ caller, input, now });
  }
  await using launched = await launchChromium();
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await launched.browser.newPage({
      colorScheme,
      locale: 'en-US',
      viewport: { width: 960, height: 760 },
    });
    await page.goto(`${server.url}/analytics`);
    await page.getByRole('textbox', { name: 'API key' }).fill(apiKey);
    await page.getByRole('button', { name: 'Show usage' }).click();
    await page.locator('#limits li').first().waitFor();
    await page.screenshot({ path: join(PICTURES, `usage-${colorScheme}.png`) });
    await page.close();
  }
}

/** The picture of a preview, where somebody shares an address of the site: the first lines of an import below the name. */
async function recordPreview(): Promise<void> {
  const picture = await readFile(join(PICTURES, 'import.svg'), 'base64');
  await using launched = await launchChromium();
  const page = await launched.browser.newPage({ viewport: { width: 1200, height: 630 } });
  await page.setContent(`<body style="margin: 0; padding: 56px 80px; background: #0b6e4f; color: #fff; font-family: sans-serif">
    <h1 style="margin: 0; font-size: 64px">Shortlink</h1>
    <p style="margin: 8px 0 32px; font-size: 34px">Short links, created exactly once</p>
    <img alt="" style="width: 1040px; border-radius: 12px" src="data:image/svg+xml;base64,${picture}">`);
  await page.screenshot({ path: path('../../docs/public/og.png') });
}
