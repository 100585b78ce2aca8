/** Stand-ins for the disk, chance and the journal's database driver, as the CLI and the tables find them. */
import { PACKAGES } from '../kernel/patches.ts';
import type { StandIn } from '../kernel/sources.ts';

const CLIENT = {
  'node:fs': './node-fs.ts',
  'node:fs/promises': './node-fs-promises.ts',
  'node:crypto': './node-crypto.ts',
  'node:stream': './node-stream.ts',
  'node:stream/promises': './node-stream-promises.ts',
  'node:sqlite': './node-sqlite.ts',
};

/** Where the command line starts an import. */
const START = new URL('./run-import.ts', import.meta.url).href;

/** By the folder whose modules get them. */
const STAND_INS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'cli/src/': CLIENT,
  'tables/src/': { ...CLIENT, 'node:zlib': './node-zlib.ts' },
  'cli/src/commands/import/': { ...CLIENT, '../../import/run-import.ts': START },
};

const SOURCES: Readonly<Record<string, string>> = {
  '@shortlink/sdk': 'sdk/src/index.ts',
  '@shortlink/sdk/wire': 'sdk/src/wire/index.ts',
  '@shortlink/tables': 'tables/src/index.ts',
  '@shortlink/tables/basics': 'tables/src/basics.ts',
};

export const standIn: StandIn = (specifier, parent) => {
  const folder = Object.keys(STAND_INS).findLast((name) => parent.startsWith(name));
  const file = STAND_INS[folder ?? '']?.[specifier];
  if (file !== undefined) return new URL(file, import.meta.url).href;
  const source = SOURCES[specifier];
  return source && PACKAGES + source;
};
