import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';

/**
 * The suite and the client in one module, for runtimes that load no packages.
 *
 * @param conditions the conditions by which package exports are chosen, the most specific first
 */
export function bundleEntry(
  entry: 'page' | 'page-service' | 'page-uses' | 'worker',
  conditions: readonly string[],
): Promise<string> {
  const path = fileURLToPath(new URL(`../entries/${entry}.ts`, import.meta.url));
  return bundleModule(path, conditions);
}

/** Bundles a module and its imports into one text, as the build tools for pages and workers do. */
export async function bundleModule(
  path: string,
  conditions: readonly string[],
  options: Pick<BuildOptions, 'plugins' | 'inject' | 'define' | 'platform' | 'alias'> = {},
): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: [...conditions],
    ...options,
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`no bundle of ${path}`);
  return file.text;
}
