import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * The suite and the client in one module, for runtimes that load no packages, bundled as their users' tools do it.
 *
 * @param conditions what package exports are picked by, the most special first
 */
export async function bundleEntry(
  entry: 'page' | 'worker',
  conditions: readonly string[],
): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../entries/${entry}.ts`, import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: [...conditions],
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`no bundle of ${entry}`);
  return file.text;
}
