import { registerHooks } from 'node:module';
import { PACKAGES, type Patch, Patches } from './patches.ts';

/** What stands in for a module: its address, or undefined where it is loaded as it is. */
export type StandIn = (specifier: string, parent: string) => string | undefined;

/**
 * From now on, this thread loads the files of `packages/` with these patches. To be called once, before the programs are loaded.
 *
 * @param standIn - `parent` is the path of the importing file below `packages/`
 * @returns the patches, to see whether all of them are used
 * @throws Error when a patch no longer fits the sources
 */
export function loadFromSource(given: readonly Patch[], standIn: StandIn): Patches {
  const patches = new Patches(given);
  registerHooks({
    resolve(specifier, { parentURL = '', ...context }, next) {
      const url = parentURL.startsWith(PACKAGES)
        ? standIn(specifier, parentURL.slice(PACKAGES.length))
        : undefined;
      return url === undefined
        ? next(specifier, { ...context, parentURL })
        : { url, shortCircuit: true };
    },
    load(url, context, next) {
      const source = patches.sourceOf(url);
      if (source === undefined) return next(url, context);
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
  return patches;
}

/** Patches of one file. */
export const inFile = (file: string, ...replaced: readonly [find: string, replace: string][]) =>
  replaced.map(([find, replace]): Patch => ({ file, find, replace }));
