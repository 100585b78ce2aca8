import { fileURLToPath } from 'node:url';

/** The `tsc` of each version of TypeScript that the SDK supports, oldest first. */
export const COMPILERS = [
  { version: '5.6', tsc: tscOf('typescript56') },
  { version: '5.9', tsc: tscOf('typescript59') },
  { version: '6', tsc: tscOf('typescript') },
  { version: '7', tsc: tscOf('typescript7') },
] as const;

/** The `tsc` of one version. */
export function compiler(version: (typeof COMPILERS)[number]['version']): string {
  const found = COMPILERS.find((entry) => entry.version === version);
  if (found === undefined) throw new Error(`TypeScript ${version} is not installed`);
  return found.tsc;
}

function tscOf(packageName: string): string {
  return fileURLToPath(new URL('bin/tsc', import.meta.resolve(`${packageName}/package.json`)));
}
