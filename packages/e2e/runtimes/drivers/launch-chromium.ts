import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { link, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliDecompress } from 'node:zlib';
import { type Browser, chromium } from 'playwright-core';

/** Where the unpacked browser is kept. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url));

/** On a machine that does much else, pages take many times as long as the browser's usual limit of 30 seconds allows. */
const LIMIT_MS = 100_000;

/** Chromium sends no requests of its own, and uses no graphics. */
const ARGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Starts a real Chromium with a profile of its own: on Linux x64 the one that npm brings, elsewhere the Chrome that is
 * installed.
 */
export async function launchChromium(): Promise<{ browser: Browser } & AsyncDisposable> {
  const executablePath = await chromiumPath();
  const browser = await chromium.launch({
    args: ARGS,
    timeout: LIMIT_MS,
    // Its sandbox needs rights that root in a container does not have.
    chromiumSandbox: false,
    ...(executablePath === undefined ? { channel: 'chrome' } : { executablePath }),
  });
  browser.on('context', (context) => context.setDefaultTimeout(LIMIT_MS));
  return { browser, [Symbol.asyncDispose]: () => browser.close() };
}

/** The path of the Chromium that npm brings, where it brings one. */
export async function chromiumPath(): Promise<string | undefined> {
  const { platform, arch } = process;
  return platform === 'linux' && arch === 'x64' ? unpack() : undefined;
}

/**
 * The path of the unpacked browser. It stays in the cache of this checkout, since unpacking 200 MB takes longer than most uses of it.
 * The package itself would unpack into the system's shared temporary folder, and use a half-written file of an interrupted run.
 */
async function unpack(): Promise<string> {
  const folder = fileURLToPath(new URL('..', import.meta.resolve('@sparticuz/chromium')));
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const path = join(CACHE, `chromium-${version}`);
  if (existsSync(path)) return path;
  await mkdir(CACHE, { recursive: true });
  // Only a whole file gets the name. Where several processes unpack at once the first one keeps it, since its browser runs by then
  // and starts its own parts from the same path.
  const part = `${path}.${process.pid}`;
  await pipeline(
    createReadStream(join(folder, 'bin/chromium.br')),
    createBrotliDecompress(),
    createWriteStream(part, { mode: 0o700 }),
  );
  await link(part, path).catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(part);
  return path;
}
