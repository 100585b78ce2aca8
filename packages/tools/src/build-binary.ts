// Builds `shortlink` as one file for this machine, in packages/cli/dist-binary/: pnpm build:binary
//
// The file is a Node without its symbols that runs the code which is injected into it (a "single executable application").
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import { build } from 'esbuild';
import { ROOT } from './manifests.ts';

const FOLDER = join(ROOT, 'packages/cli/dist-binary');
/** Node 26 can inject a program by itself, and is under long-term support. */
const NODE = fileURLToPath(import.meta.resolve('node26/bin/node'));
/** The most that people download. */
const MOST_MEGABYTES = 50;
const isWindows = process.platform === 'win32';
const output = join(FOLDER, isWindows ? 'shortlink.exe' : 'shortlink');

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER);

const program = join(FOLDER, 'program.cjs');
await build({
  entryPoints: [join(ROOT, 'packages/cli/src/main.ts')],
  outfile: program,
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node26',
  format: 'cjs',
  // A single file can load no other module. Modules that are imported late still run late.
  supported: { 'dynamic-import': false },
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

const node = join(FOLDER, 'node');
copyFileSync(NODE, node);
// Symbols are a fifth of the file. Windows and macOS keep them elsewhere.
if (process.platform === 'linux') execFileSync('strip', [node]);
const config = join(FOLDER, 'sea.json');
writeFileSync(
  config,
  JSON.stringify({
    main: program,
    executable: node,
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // The program ignores NODE_OPTIONS, which is meant for other programs.
    execArgvExtension: 'none',
  }),
);
execFileSync(NODE, ['--build-sea', config], { stdio: 'inherit' });
if (process.platform === 'darwin') execFileSync('codesign', ['--sign', '-', output]);
for (const file of [node, config, program]) rmSync(file);
const megabytes = gzipSync(readFileSync(output)).length / 1e6;
console.log(`${output}: ${megabytes.toFixed(1)} MB compressed`);
if (megabytes > MOST_MEGABYTES) throw new Error(`More than ${MOST_MEGABYTES} MB compressed.`);
