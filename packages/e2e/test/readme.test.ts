import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { codeBlocks } from '../src/code-blocks.ts';
import { typeCheck } from '../src/type-check.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Packages of the workspace resolve here as they do for their users, msw too. */
const FOLDER = fileURLToPath(new URL('..', import.meta.url));

const READMES = globSync(['README.md', 'packages/*/README.md', 'examples/**/README.md'], {
  cwd: ROOT,
  exclude: (path) => path.includes('node_modules'),
});
const BLOCKS = READMES.flatMap((name) =>
  codeBlocks(readFileSync(`${ROOT}/${name}`, 'utf8')).map((block) => ({ ...block, name })),
);
const PROGRAMS = BLOCKS.filter(({ language }) =>
  /^([cm]?[jt]s|javascript|typescript)$/.test(language),
);

describe('the code in the READMEs', () => {
  it('is found', () => {
    const names = new Set(PROGRAMS.map(({ name }) => name));
    expect([...names].toSorted()).toEqual(
      expect.arrayContaining(['README.md', 'packages/sdk/README.md', 'packages/server/README.md']),
    );
  });

  it('has no mistake that the compiler sees', () => {
    expect(typeCheck(PROGRAMS, FOLDER)).toEqual([]);
  });

  it('is checked at all', () => {
    const code =
      "import { Shortlink } from '@shortlink/sdk';\n\nnew Shortlink({ apiKeys: 'k' });\n";
    const [mistake, ...more] = typeCheck([{ name: 'X.md', line: 10, code }], FOLDER);
    expect(mistake).toMatch(/^X\.md:12: .*'apiKeys' does not exist/);
    expect(more).toEqual([]);
  });

  it('parses where it is JSON', () => {
    for (const { name, line, language, code } of BLOCKS) {
      if (language !== 'json') continue;
      for (const text of code.includes('\n{') ? code.trim().split('\n') : [code]) {
        expect(() => JSON.parse(text), `${name}:${line}`).not.toThrow();
      }
    }
  });
});
