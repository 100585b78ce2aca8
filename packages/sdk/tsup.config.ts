import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineConfig, type Options } from 'tsup';
import { emptied, KNOWN_RESULTS, NEVER_RUN } from './ky-parts.config.ts';

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/** The builders of readers and of schemas that `src/wire` calls at its load. */
const WIRE_AT_LOAD = /(?<!function |[.\w])(?:optional|reader|rich|schema)(?:<.+?>)?\(/g;

/** What ky calls at its load. */
const KY_AT_LOAD = /(?<== )createInstance\(/g;

/**
 * What the build has first. gzip looks back 32 KiB, less than half of it: with the libraries before our own modules, these are near
 * each other, and a page loads 0.2 KB less.
 */
const FIRST = "import 'p-retry'; import 'ky'; import './http/transport.ts';";

const librariesFirst: Plugin = {
  name: 'libraries-first',
  setup(build) {
    build.onLoad({ filter: /\/sdk\/src\/index\.ts$/ }, async ({ path }) => ({
      contents: `${FIRST}\n${await readFile(path, 'utf8')}`,
      loader: 'ts',
    }));
  },
};

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

/** Leaves out the parts of ky that are in ky-parts.config.ts. It fails where a newer ky has them no more. */
const partOfKy: Plugin = {
  name: 'part-of-ky',
  setup(build) {
    const seen = new Set<string>();
    build.onLoad({ filter: /\/node_modules\/ky\/distribution\/.*\.js$/ }, async ({ path }) => {
      const name = path.replace(/^.*\/distribution\//, '');
      const known = KNOWN_RESULTS[name];
      if (known === undefined && !NEVER_RUN.includes(name)) return null;
      seen.add(name);
      return { contents: known ?? emptied(await readFile(path, 'utf8')), loader: 'js' };
    });
    build.onEnd(() => {
      const names = [...NEVER_RUN, ...Object.keys(KNOWN_RESULTS)];
      const missing = names.filter((name) => !seen.has(name));
      if (seen.size > 0 && missing.length > 0) throw new Error(`ky has no ${missing.join()}`);
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
 * reading the files of libraries than on the link. Names and lines are kept, so that a stack trace is readable; only syntax is
 * shortened, which removes the branches of ky that are switched off. There are no source maps: they were three quarters of
 * the package, mostly for libraries. zod is an optional peer, because
 * the types of the schemas in `./wire` are its types.
 */
export default defineConfig({
  entry: { index: 'src/index.ts', wire: 'src/wire/index.ts' },
  format: ['esm', 'cjs'],
  target: 'es2023',
  platform: 'neutral',
  tsconfig: 'tsconfig.src.json',
  // What is marked as internal, such as the constructor of a resource, would bring private types into the declarations.
  dts: { compilerOptions: { noCheck: true, stripInternal: true } },
  splitting: false,
  // Errors are printed all the same.
  silent: true,
  noExternal: [/^zod(\/|$)/],
  esbuildOptions(options) {
    options.minifySyntax = true;
  },
  esbuildPlugins: [librariesFirst, pureCalls, partOfKy, bundledLicenses],
});
