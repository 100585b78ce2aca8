/**
 * Loads the CLI's core, the SDK and the server's app from their sources, with stand-ins for the disk, time, chance and the journal's
 * database driver. Nothing of the first two is changed, but for a planted bug where one is asked for.
 */
import { registerHooks } from 'node:module';
import { PACKAGES, type Patch, Patches } from '../kernel/patches.ts';

const CLIENT = {
  'node:fs': './node-fs.ts',
  'node:fs/promises': './node-fs-promises.ts',
  'node:crypto': './node-crypto.ts',
  'node:stream': './node-stream.ts',
  'node:stream/promises': './node-stream-promises.ts',
  'node:process': './node-process.ts',
};

/** By the folder whose modules get them. */
const STAND_INS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'cli/src/': CLIENT,
  'tables/src/': {
    ...CLIENT,
    'node:zlib': './node-zlib.ts',
  },
};

/** So that the few rows of a scenario become jobs of several chunks, and the server refuses some of them. */
const SERVER_PATCHES: readonly Patch[] = [
  {
    file: 'server/src/http/check-body.ts',
    find: 'links.length <= wire.MAX_SYNC_BATCH_LINKS',
    replace: 'links.length <= wire.MAX_SYNC_BATCH_LINKS / 25',
  },
  {
    file: 'server/src/store/links.ts',
    find: 'JOB_CHUNK_LINKS = 500',
    replace: 'JOB_CHUNK_LINKS = 3',
  },
  {
    file: 'server/src/domain/validate-link.ts',
    find: '  const details: ErrorDetail[] = [];\n  const problem',
    replace:
      "  const details: ErrorDetail[] = [];\n  if (title === 'refused' && !titles.isLenient) details.push(fieldDetail('title', 'is not allowed'));\n  const problem",
  },
  {
    file: 'server/src/domain/validate-link.ts',
    find: 'export function namesDomain(',
    replace: 'export const titles = { isLenient: false };\nexport function namesDomain(',
  },
];

const SOURCES: Readonly<Record<string, string>> = {
  '@shortlink/sdk': 'sdk/src/index.ts',
  '@shortlink/sdk/wire': 'sdk/src/wire/index.ts',
  '@shortlink/tables': 'tables/src/index.ts',
  '@shortlink/tables/basics': 'tables/src/basics.ts',
};

/** Where the command line starts an import. */
const IMPORT = { by: `${PACKAGES}cli/src/commands/import/`, as: '../../import/run-import.ts' };

/** @returns the patches, to see whether all of them are used */
export function loadFromSource(planted: readonly Patch[]): Patches {
  const patches = new Patches([...SERVER_PATCHES, ...planted]);
  registerHooks({
    resolve(specifier, context, next) {
      const parent = context.parentURL ?? '';
      const folder = Object.keys(STAND_INS).find((name) => parent.startsWith(PACKAGES + name));
      const standIn = STAND_INS[folder ?? '']?.[specifier];
      if (standIn !== undefined) {
        return { url: new URL(standIn, import.meta.url).href, shortCircuit: true };
      }
      if (specifier === IMPORT.as && parent.startsWith(IMPORT.by))
        return { url: new URL('./run-import.ts', import.meta.url).href, shortCircuit: true };
      const source = SOURCES[specifier];
      if (source !== undefined) return { url: PACKAGES + source, shortCircuit: true };
      return next(specifier, context);
    },
    load(url, context, next) {
      const source = patches.sourceOf(url);
      if (source === undefined) return next(url, context);
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
  return patches;
}
