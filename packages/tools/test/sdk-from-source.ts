// Preloaded into the processes of the unit tests. Threads that they start, which vitest does not load, get the SDK from its sources as well.
import { registerHooks } from 'node:module';

const SOURCES: Record<string, string> = {
  '@shortlink/sdk': new URL('../../sdk/src/index.ts', import.meta.url).href,
  '@shortlink/sdk/wire': new URL('../../sdk/src/wire/index.ts', import.meta.url).href,
};

registerHooks({
  resolve(specifier, context, next) {
    const url = SOURCES[specifier];
    return url === undefined
      ? next(specifier, context)
      : { url, format: 'module-typescript', shortCircuit: true };
  },
});
