import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, preview } from 'vite';

/** A strict Content Security Policy for a page with a script and a service: no eval, nothing inline. */
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src http://127.0.0.1:*",
};

/** Builds a Vite app for production and serves it under a strict Content Security Policy. */
export async function serveVitePage(root: string): Promise<{ url: string } & AsyncDisposable> {
  const outDir = await mkdtemp(join(tmpdir(), 'shortlink-vite-'));
  const common = { root, configFile: false, logLevel: 'error' } as const;
  await build({ ...common, build: { outDir, emptyOutDir: true } });
  const server = await preview({
    ...common,
    build: { outDir },
    preview: { host: '127.0.0.1', port: 0, headers: HEADERS },
  });
  const url = server.resolvedUrls?.local[0];
  if (url === undefined) throw new Error('Vite serves nothing');
  return {
    url,
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(outDir, { recursive: true, force: true });
    },
  };
}
