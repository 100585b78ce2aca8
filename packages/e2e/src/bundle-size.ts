import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/**
 * How many bytes a page loads for a program: bundled and minified by esbuild, then compressed by gzip at its best level.
 *
 * @param source the program; its exports are kept
 */
export async function bundleSize(source: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    logLevel: 'error',
  });
  const [file, ...more] = outputFiles;
  if (file === undefined || more.length > 0) throw new Error('esbuild made more than one file');
  return gzipSync(file.contents, { level: 9 }).length;
}
