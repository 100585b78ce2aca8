// Preloaded into the processes of the unit tests. Threads that they start, which vitest does not load, get the SDK from its sources as well.
import { registerHooks } from 'node:module';
import { env } from 'node:process';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { WRITER, WRITER_BUNDLE } from './writer-bundle.ts';

const SOURCES: Record<string, string> = {
  '@shortlink/sdk': new URL('../../sdk/src/index.ts', import.meta.url).href,
  '@shortlink/sdk/wire': new URL('../../sdk/src/wire/index.ts', import.meta.url).href,
};

const bundle = env[WRITER_BUNDLE];
const writer = pathToFileURL(WRITER).href;

registerHooks({
  resolve(specifier, context, next) {
    if (!isMainThread && bundle !== undefined && specifier === writer)
      return { url: pathToFileURL(bundle).href, format: 'module', shortCircuit: true };
    const url = SOURCES[specifier];
    return url === undefined
      ? next(specifier, context)
      : { url, format: 'module-typescript', shortCircuit: true };
  },
});
