/**
 * Loads the CLI's core and the SDK from their sources, with stand-ins for the disk, chance and the database driver. Nothing of
 * them is changed, but for a planted bug where one is asked for.
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

const STAND_INS: Readonly<Record<string, string>> = {
  'node:fs': './node-fs.ts',
  'node:fs/promises': './node-fs-promises.ts',
  'node:crypto': './node-crypto.ts',
  'node:stream/promises': './node-stream-promises.ts',
  'node:process': './node-process.ts',
};

const SOURCES: Readonly<Record<string, string>> = {
  '@shortlink/sdk': 'sdk/src/index.ts',
  '@shortlink/sdk/wire': 'sdk/src/wire/index.ts',
};

/** @throws Error when the text of a patch is not there exactly once, as after a change of that file */
export function loadFromSource(patches: readonly Patch[]): void {
  registerHooks({
    resolve(specifier, context, next) {
      const isOurs = context.parentURL?.startsWith(`${PACKAGES}cli/src/`) === true;
      const standIn = isOurs ? STAND_INS[specifier] : undefined;
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
      for (const { file, find, replace } of own) {
        if (text.split(find).length !== 2) throw new Error(`not once in ${file}: ${find}`);
        text = text.replace(find, () => replace);
      }
      return { format: 'module-typescript', source: text, shortCircuit: true };
    },
  });
}
