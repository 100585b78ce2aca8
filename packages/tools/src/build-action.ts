// Puts the CLI as one file beside the action, so that a job needs no npm, no registry and no Node of its own: pnpm build:action
//
// The release commits the file into what its tags name, and only there. The program may be given another path.
import { join } from 'node:path';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import { build } from 'esbuild';
import { ROOT } from './manifests.ts';

await build({
  entryPoints: [join(ROOT, 'packages/cli/src/main.ts')],
  outfile: process.argv[2] ?? join(ROOT, 'packages/action/shortlink.mjs'),
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  // Libraries that are CommonJS load Node's own modules with it.
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
  legalComments: 'none',
  logLevel: 'warning',
  // The SBOM: names, versions and licence texts of the libraries in the program.
  plugins: [
    cyclonedxEsbuildPlugin({
      outputFile: 'shortlink.sbom.json',
      gatherLicenseTexts: true,
      outputReproducible: true,
      logLevel: 'error',
    }),
  ],
});
