import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';

/** What a program costs in a page, in bytes after gzip. */
export interface BundleSize {
  /** All of its files. */
  total: number;
  /** What is loaded at once. */
  initial: number;
  /** What is loaded when it is needed, by the name of the module that is asked for. */
  late: Record<string, LatePart>;
}

/** A part that is loaded late, with all that it imports and the program does not have yet. */
export interface LatePart {
  bytes: number;
  /** Where it is more than one, they are loaded one after the other: a page learns of the second from the first. */
  files: number;
}

const ENTRY = join(import.meta.dirname, 'program.js');

/**
 * Bundles a program as Vite does for a page: minified, and split where it loads modules late.
 *
 * @param source the program; what it exports is kept
 */
export async function bundleSize(source: string): Promise<BundleSize> {
  const chunks = await bundle(source);
  const bytesOf = new Map(
    chunks.map(({ fileName, code }) => [fileName, gzipSync(code, { level: 9 }).length]),
  );
  const sum = (files: Iterable<string>) =>
    [...files].reduce((bytes, file) => bytes + (bytesOf.get(file) ?? Number.NaN), 0);

  /** A file and all that it imports, without what it loads late. */
  const withImports = (file: string, found = new Set<string>()): Set<string> => {
    if (found.has(file)) return found;
    found.add(file);
    for (const path of chunks.find(({ fileName }) => fileName === file)?.imports ?? []) {
      withImports(path, found);
    }
    return found;
  };

  const entry = chunks.find(({ isEntry }) => isEntry);
  if (entry === undefined) throw new Error('Vite made no entry');
  const initial = withImports(entry.fileName);
  const late: Record<string, LatePart> = {};
  for (const { fileName, name, isDynamicEntry } of chunks) {
    if (!isDynamicEntry) continue;
    const files = [...withImports(fileName)].filter((file) => !initial.has(file));
    // The SDK's own build has put a hash behind the name.
    late[name.replace(/-[A-Z0-9]{8}$/, '')] = { bytes: sum(files), files: files.length };
  }
  return { total: sum(bytesOf.keys()), initial: sum(initial), late };
}

async function bundle(source: string): Promise<Rolldown.OutputChunk[]> {
  const result = await build({
    configFile: false,
    logLevel: 'error',
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === ENTRY ? id : null),
        load: (id) => (id === ENTRY ? source : null),
      },
    ],
    build: {
      write: false,
      target: 'es2023',
      // Vite's own code for loading, which is not ours to count.
      modulePreload: false,
      rolldownOptions: { input: ENTRY, preserveEntrySignatures: 'allow-extension' },
    },
  });
  if (!('output' in result)) throw new Error('Vite made no output');
  return result.output.filter((file) => file.type === 'chunk');
}
