import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliDecompress } from 'node:zlib';
import { type Browser, chromium } from 'playwright-core';
import { tempFolder } from './temp-folder.ts';

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
  await using cleanup = new AsyncDisposableStack();
  const { platform, arch } = process;
  const folder = cleanup.use(await tempFolder());
  const isBrought = platform === 'linux' && arch === 'x64';
  const browser = await chromium.launch({
    args: ARGS,
    // Its sandbox needs rights that root in a container does not have.
    chromiumSandbox: false,
    ...(isBrought ? { executablePath: await unpack(folder.path) } : { channel: 'chrome' }),
  });
  cleanup.defer(() => browser.close());
  const kept = cleanup.move();
  return { browser, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/**
 * Unpacks the browser into a folder and returns its path. The package would unpack into the system's shared temporary
 * folder, leave it there, and use a half-written file of an interrupted run.
 */
async function unpack(folder: string): Promise<string> {
  const packed = new URL('../bin/chromium.br', import.meta.resolve('@sparticuz/chromium'));
  const path = join(folder, 'chromium');
  await pipeline(
    createReadStream(fileURLToPath(packed)),
    createBrotliDecompress(),
    createWriteStream(path, { mode: 0o700 }),
  );
  return path;
}
