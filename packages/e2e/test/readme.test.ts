import * as client from '@shortlink/sdk';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { docExamples } from '../src/code-blocks.ts';
import { PAGES, pageBlocks, programs, readPage } from '../src/documented-code.ts';
import { interfaceMembers } from '../src/interface-members.ts';
import { typeCheck } from '../src/type-check.ts';

const BLOCKS = pageBlocks();
const PROGRAMS = programs();

describe('the code in READMEs, pages and doc comments', () => {
  it('is found', () => {
    const names = new Set(PROGRAMS.map(({ name }) => name));
    const expected = [
      'README.md',
      'packages/sdk/README.md',
      'packages/server/README.md',
      'packages/docs/start/sdk.md',
      'packages/docs/sdk/bulk.md',
      'packages/sdk/src/client.ts',
      'packages/sdk/src/resources/links.ts',
      'packages/server/src/testing/msw.ts',
    ];
    expect([...names].toSorted()).toEqual(expect.arrayContaining(expected));
    expect(PROGRAMS.length).toBeGreaterThan(25);
  });

  it('has no mistake that the compiler sees, which sees the one that is added', async () => {
    const code =
      "import { Shortlink } from '@shortlink/sdk';\n\nnew Shortlink({ apiKeys: 'k' });\n";
    const wrong = { name: 'X.md', line: 10, code };
    expect(await typeCheck([...PROGRAMS, wrong])).toEqual([
      expect.stringMatching(/^X\.md:12: .*'apiKeys' does not exist/),
    ]);
  });

  it('ends in a doc comment where the next tag begins', () => {
    const source = '/**\n * A.\n *\n * @example\n * a();\n * b();\n *\n * @throws never\n */\n';
    expect(docExamples(source)).toEqual([
      { language: 'ts', file: undefined, code: 'a();\nb();\n\n', line: 5 },
    ]);
  });

  it('parses where it is JSON or YAML', () => {
    for (const { name, line, language, code } of BLOCKS) {
      if (language === 'yaml') expect(() => parse(code), `${name}:${line}`).not.toThrow();
      if (language !== 'json') continue;
      for (const text of code.includes('\n{') ? code.trim().split('\n') : [code]) {
        expect(() => JSON.parse(text), `${name}:${line}`).not.toThrow();
      }
    }
  });

  it('has a language that says whether it is run', () => {
    const languages = new Set(BLOCKS.map(({ language }) => language));
    // Jest runs the only block of JavaScript, with the packed server.
    const known = ['csv', 'javascript', 'json', 'sh', 'shell', 'ts', 'txt', 'yaml'];
    expect([...languages].filter((language) => !known.includes(language))).toEqual([]);
  });
});

describe('the tables of the pages about the client', () => {
  const page = (name: string) => readPage(`packages/docs/sdk/${name}.md`);
  /** The first cells of the rows that begin with code. */
  const names = (text: string) =>
    [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name).toSorted();

  it('have every hook', () => {
    const members = interfaceMembers(
      readPage('packages/sdk/src/http/watching.ts'),
      'ShortlinkHooks',
    );
    expect(names(page('options'))).toEqual(members.map(({ name }) => name).toSorted());
  });

  it('have every error class', () => {
    const classes = Object.keys(client).filter((name) => name.endsWith('Error'));
    expect([...names(page('errors')), 'ShortlinkError'].toSorted()).toEqual(classes.toSorted());
  });
});

describe('the READMEs', () => {
  it('begin with an example of at most 12 lines, and are short', () => {
    for (const name of PAGES.filter((path) => /^packages\/(sdk|cli|server)\/README/.test(path))) {
      const text = readPage(name);
      const example = BLOCKS.find((block) => block.name === name && !/install/.test(block.code));
      expect(example?.code.trim().split('\n').length, name).toBeLessThanOrEqual(12);
      expect(text.split(/\s+/).length, name).toBeLessThan(400);
    }
  });
});
