/**
 * Loads the CLI's core, the SDK and the server's app from their sources, with stand-ins for the disk, time, chance and the journal's
 * database driver. Nothing of the first two is changed, but for a planted bug where one is asked for.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A bug: in one file of the packages, text is replaced. */
export interface Patch {
  /** Below `packages/`. */
  file: string;
  find: string;
  replace: string;
}

const PACKAGES = new URL('../../../', import.meta.url).href;

/** By the folder whose modules get them. */
const STAND_INS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'cli/src/': {
    'node:fs': './node-fs.ts',
    'node:fs/promises': './node-fs-promises.ts',
    'node:crypto': './node-crypto.ts',
    'node:stream/promises': './node-stream-promises.ts',
    'node:process': './node-process.ts',
  },
  'server/src/': {
    'node:timers': './node-timers.ts',
    'node:timers/promises': './node-timers.ts',
  },
};

/** So that the few rows of a scenario become jobs of several chunks, and the server refuses some of them. */
const SERVER_PATCHES: readonly Patch[] = [
  {
    file: 'server/src/http/links.ts',
    find: 'input.length <= MAX_SYNC_BATCH_LINKS',
    replace: 'input.length <= MAX_SYNC_BATCH_LINKS / 25',
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
      "  const details: ErrorDetail[] = [];\n  if (title === 'refused') details.push(fieldDetail('title', 'is not allowed'));\n  const problem",
  },
];

const SOURCES: Readonly<Record<string, string>> = {
  '@shortlink/sdk': 'sdk/src/index.ts',
  '@shortlink/sdk/wire': 'sdk/src/wire/index.ts',
};

/** @throws Error when the file of a patch is gone, or its text is not there exactly once, as after a change of that file */
export function loadFromSource(planted: readonly Patch[]): void {
  const patches = [...SERVER_PATCHES, ...planted];
  for (const { file, find } of patches) {
    const text = readFileSync(new URL(file, PACKAGES), 'utf8');
    if (text.split(find).length !== 2) throw new Error(`not once in ${file}: ${find}`);
  }
  registerHooks({
    resolve(specifier, context, next) {
      const parent = context.parentURL ?? '';
      const folder = Object.keys(STAND_INS).find((name) => parent.startsWith(PACKAGES + name));
      const standIn = STAND_INS[folder ?? '']?.[specifier];
      if (standIn !== undefined) {
        return { url: new URL(standIn, import.meta.url).href, shortCircuit: true };
      }
      const source = SOURCES[specifier];
      if (source !== undefined) return { url: PACKAGES + source, shortCircuit: true };
      return next(specifier, context);
    },
    load(url, context, next) {
      const own = patches.filter(({ file }) => url === PACKAGES + file);
      if (own.length === 0) return next(url, context);
      let text = readFileSync(fileURLToPath(url), 'utf8');
      for (const { find, replace } of own) text = text.replace(find, () => replace);
      return { format: 'module-typescript', source: text, shortCircuit: true };
    },
  });
}
