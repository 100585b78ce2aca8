import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineConfig, type Options } from 'tsup';

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/** The builders of readers and of schemas that `src/wire` calls at its load. */
const WIRE_AT_LOAD =
  /(?<![.\w])(?:f\.(?:object|list|rows|optional|word|flag|number)|object)(?:<.+?>)?\(/g;

/** What ky calls at its load. */
const KY_AT_LOAD = /(?<== )createInstance\(/g;

/**
 * Marks calls as free of side effects that are made when a module is loaded. Bundlers drop them where nothing uses their
 * results. Without the marks, a program that takes one constant of this package would have all of zod and ky in its bundle.
 */
const pureCalls: Plugin = {
  name: 'pure-calls',
  setup(build) {
    const mark = (filter: RegExp, calls: RegExp, loader: 'ts' | 'js') =>
      build.onLoad({ filter }, async ({ path }) => ({
        contents: (await readFile(path, 'utf8')).replaceAll(calls, '/* @__PURE__ */ $&'),
        loader,
      }));
    mark(/\/src\/wire\/.*\.ts$/, WIRE_AT_LOAD, 'ts');
    mark(/\/ky\/distribution\/index\.js$/, KY_AT_LOAD, 'js');
  },
};

/**
 * Modules of ky and of p-retry that a single attempt never calls, or whose result is known: `http/send.ts` asks ky for no retries,
 * time limit, progress, headers, parameters, signal or schema and for no error because of a status, and gives it one set of
 * options; `http/transport.ts` decides itself which errors are repeated. A page loads their results instead of them.
 */
const IN_PLACE_OF: Readonly<Record<string, string>> = {
  'ky/distribution/core/constants.js': `export const
    supportsAbortController = false, supportsAbortSignal = false, supportsFormData = false,
    supportsResponseStreams = false, supportsRequestStreams = false,
    maxSafeTimeout = 0, requestMethods = [], responseTypes = {}, stop = 0, retry = 0;
    export class RetryMarker {}`,
  'ky/distribution/core/retry-timing.js':
    'export const getRetryTimingHeader = 0, calculateRetryTimingDelay = 0;',
  'ky/distribution/utils/body.js':
    'export const getBodySize = 0, streamResponse = 0, streamRequest = 0;',
  'ky/distribution/utils/delay.js': 'export default 0;',
  'ky/distribution/utils/timeout.js': 'export default 0;',
  'ky/distribution/utils/merge.js': `export const
    cloneShallow = 0, deepMerge = 0, deletedParametersSymbol = 0, replaceOption = 0,
    validateAndMerge = (_, options) => options,
    mergeHeaders = () => new Headers(),
    mergeHooks = () => ({ beforeRequest: [], beforeRetry: [], beforeError: [], afterResponse: [] });`,
  'ky/distribution/utils/normalize.js': `export const
    normalizeRequestMethod = (method) => method,
    normalizeRetryOptions = () => ({ limit: 0 });`,
  'ky/distribution/utils/options.js': `export const
    findUnknownOptions = () => ({}), hasSearchParameters = () => false;`,
  'ky/distribution/errors/ForceRetryError.js': 'export class ForceRetryError {}',
  'ky/distribution/errors/HTTPError.js': 'export class HTTPError {}',
  'ky/distribution/errors/NonError.js': 'export class NonError {}',
  'ky/distribution/errors/SchemaValidationError.js': 'export class SchemaValidationError {}',
  'is-network-error/index.js': 'export default () => false;',
};

/** Puts these in their place. It fails where a newer library has them no more: then read anew what it calls. */
const partOfLibraries: Plugin = {
  name: 'part-of-libraries',
  setup(build) {
    const seen = new Set<string>();
    build.onLoad({ filter: /\/node_modules\/(ky|is-network-error)\/.*\.js$/ }, ({ path }) => {
      const name = path.replace(/^.*\/node_modules\//, '');
      const contents = IN_PLACE_OF[name];
      if (contents === undefined) return null;
      seen.add(name);
      return { contents, loader: 'js' };
    });
    build.onEnd(() => {
      const missing = Object.keys(IN_PLACE_OF).filter((name) => !seen.has(name));
      if (seen.size > 0 && missing.length > 0) throw new Error(`There is no ${missing.join()}`);
    });
  },
};

/** Writes the licenses of the packages that became part of the build. */
const bundledLicenses: Plugin = {
  name: 'bundled-licenses',
  setup(build) {
    build.initialOptions.metafile = true;
    build.onEnd(async ({ metafile }) => {
      const folders = new Set<string>();
      for (const input of Object.keys(metafile?.inputs ?? {})) {
        const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
        if (folder !== undefined) folders.add(folder);
      }
      const texts = await Promise.all([...folders].toSorted().map(licenseOf));
      await mkdir('dist', { recursive: true });
      await writeFile('dist/LICENSES.txt', texts.join(''));
    });
  },
};

async function licenseOf(folder: string): Promise<string> {
  const manifest = await readFile(join(folder, 'package.json'), 'utf8');
  const { name, version }: { name: string; version: string } = JSON.parse(manifest);
  const text = await readFile(join(folder, 'LICENSE'), 'utf8').catch(() =>
    readFile(join(folder, 'license'), 'utf8'),
  );
  return `${name} ${version}\n\n${text.trim()}\n\n\n`;
}

/**
 * One file per entry point, with all that it needs: a process that creates one link would spend more time on finding and
 * reading the files of libraries than on the link. Nothing is minified, so a stack trace shows readable code with our names, and
 * there are no source maps: they were three quarters of the package, mostly for libraries. zod is an optional peer, because
 * the types of the schemas in `./wire` are its types.
 */
export default defineConfig({
  entry: { index: 'src/index.ts', wire: 'src/wire/index.ts' },
  format: ['esm', 'cjs'],
  target: 'es2023',
  platform: 'neutral',
  tsconfig: 'tsconfig.src.json',
  dts: { compilerOptions: { noCheck: true } },
  splitting: false,
  // Errors are printed all the same.
  silent: true,
  noExternal: [/^zod(\/|$)/],
  esbuildPlugins: [pureCalls, partOfLibraries, bundledLicenses],
});
