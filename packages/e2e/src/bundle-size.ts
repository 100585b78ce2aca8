import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** What a program costs in a page. */
export interface BundleSize {
  /** Bytes after gzip, over all of its files. */
  total: number;
  /** Bytes after gzip of what is loaded at once; the rest comes when it is needed. */
  initial: number;
}

/**
 * Bundles a program as a page's build does, minified and split where it loads modules late.
 *
 * @param source the program; what it exports is kept
 */
export async function bundleSize(source: string): Promise<BundleSize> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    legalComments: 'none',
    outdir: 'out',
    entryNames: 'entry',
    write: false,
  });
  const sizes = outputFiles.map(({ path, contents }) => ({
    isEntry: path.endsWith('entry.js'),
    bytes: gzipSync(contents, { level: 9 }).length,
  }));
  const sum = (files: typeof sizes) => files.reduce((bytes, file) => bytes + file.bytes, 0);
  return { total: sum(sizes), initial: sum(sizes.filter(({ isEntry }) => isEntry)) };
}
