import { fileURLToPath } from 'node:url';
import type { Options } from 'tsup';

const STAND_INS = fileURLToPath(new URL('src/browser/node.ts', import.meta.url));

/** Settings of esbuild with which the server's source runs in a page: stand-ins take the place of Node. */
export const forPage: {
  plugins: NonNullable<Options['esbuildPlugins']>;
  inject: string[];
  define: Record<string, string>;
} = {
  // sql.js would look beside this address for a file that it is given. Cloudflare Workers have no address.
  define: { 'self.location.href': '""' },
  inject: [STAND_INS],
  plugins: [
    {
      name: 'for-page',
      setup(build) {
        const fromNode = /^(?:node:.*|pino|prom-client|\.\.?\/(?:.*\/)?start-thread\.ts)$/;
        build.onResolve({ filter: fromNode }, () => ({ path: STAND_INS }));
      },
    },
  ],
};
