// Prints how large the files and functions of each package are, and fails where they have grown past their ceilings.
//
//   pnpm sizes                 print everything
//   pnpm sizes --quiet         print only what is too large, as pnpm lint does
//   pnpm sizes --set           make what is reached now the ceiling
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ROOT } from './manifests.ts';
import { type Measured, measureFolder } from './measure.ts';

/** The most that a folder may have of each. */
interface Ceiling {
  filesPer1000Lines: number;
  longestFunction: number;
  longestFile: number;
}

const { values } = parseArgs({
  options: {
    quiet: { type: 'boolean', default: false },
    set: { type: 'boolean', default: false },
    ceilings: {
      type: 'string',
      default: fileURLToPath(new URL('sizes.json', import.meta.url)),
    },
  },
});
const ceilings: Record<string, Ceiling> = JSON.parse(readFileSync(values.ceilings, 'utf8'));

const longest = (measured: readonly Measured[]) =>
  measured.reduce((a, b) => (b.lines > a.lines ? b : a));

let hasGrown = false;
for (const [folder, ceiling] of Object.entries(ceilings)) {
  const { files, functions } = measureFolder(ROOT, folder);
  const lines = files.reduce((sum, file) => sum + file.lines, 0);
  const [longestFunction, longestFile] = [longest(functions), longest(files)];
  const reached = {
    // Rounded up: a few lines less are no reason to merge files.
    filesPer1000Lines: Math.ceil((files.length / lines) * 1000),
    longestFunction: longestFunction.lines,
    longestFile: longestFile.lines,
  } satisfies Ceiling;
  if (values.set) ceilings[folder] = reached;
  const rows = [
    ['filesPer1000Lines', 'files per 1,000 lines', `${files.length} files, ${lines} lines`],
    ['longestFunction', 'lines of the longest function', longestFunction.name],
    ['longestFile', 'lines of the longest file', longestFile.name],
  ] as const;
  for (const [key, what, where] of rows) {
    const isTooLarge = !values.set && reached[key] > ceiling[key];
    hasGrown ||= isTooLarge;
    if (values.quiet && !isTooLarge) continue;
    const figures = `${reached[key]} of at most ${values.set ? reached[key] : ceiling[key]}`;
    console.log(`${folder}: ${what}: ${figures} (${where})${isTooLarge ? ' TOO LARGE' : ''}`);
  }
}
if (values.set) writeFileSync(values.ceilings, `${JSON.stringify(ceilings, null, 2)}\n`);
if (hasGrown) {
  console.error('Split what is too large, or merge files that are only read together.');
  process.exitCode = 1;
}
