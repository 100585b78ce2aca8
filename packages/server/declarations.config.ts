import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DIST = join(import.meta.dirname, 'dist');

/**
 * Writes the types of what `require` loads, after tsup: they are those of the ES modules, in files that name each other by `.cjs`. To have
 * TypeScript make them again would take a third of the build.
 */
const written = new Set(['testing', 'testing-msw']);
for (const name of written) {
  const text = readFileSync(join(DIST, `${name}.d.ts`), 'utf8').replaceAll(
    /(?<= '\.\/)([\w-]+)\.js(?=')/g,
    (_, imported: string) => {
      written.add(imported);
      return `${imported}.cjs`;
    },
  );
  writeFileSync(join(DIST, `${name}.d.cts`), text);
}
