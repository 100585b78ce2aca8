import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * The suite and the client in one module, for runtimes that load no packages.
 *
 * @param conditions what package exports are picked by, the most special first
 */
export function bundleEntry(
  entry: 'page' | 'worker',
  conditions: readonly string[],
): Promise<string> {
  const path = fileURLToPath(new URL(`../entries/${entry}.ts`, import.meta.url));
  return bundleModule(path, conditions);
}

/** A module with all that it imports in one text, bundled as the tools of pages and workers do it. */
export async function bundleModule(path: string, conditions: readonly string[]): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: [...conditions],
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`no bundle of ${path}`);
  return file.text;
}
