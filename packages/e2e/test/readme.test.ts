import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as client from '@shortlink/sdk';
import { describe, expect, it } from 'vitest';
import { codeBlocks } from '../src/code-blocks.ts';
import { interfaceMembers } from '../src/interface-members.ts';
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

describe("the tables of the client's README", () => {
  const sdk = (path: string) => readFileSync(`${ROOT}/packages/sdk/${path}`, 'utf8');
  const readme = sdk('README.md');
  /** The rows of a section's first table that begin with code, as cells. */
  const rows = (heading: string) => {
    const section = readme.split(new RegExp(`^## ${heading}$`, 'm'))[1]?.split(/^##/m)[0] ?? '';
    return section
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('`', '')));
  };

  it.each([
    { heading: 'Options', file: 'src/options.ts', name: 'ShortlinkOptions', inherited: [] },
    {
      heading: 'Bulk',
      file: 'src/bulk/types.ts',
      name: 'CreateManyOptions',
      inherited: ['timeoutMs', 'maxRetries', 'headers'],
    },
    { heading: 'Watching', file: 'src/http/watching.ts', name: 'ShortlinkHooks', inherited: [] },
  ])('has every member of $name, with its default', ({ heading, file, name, inherited }) => {
    const members = interfaceMembers(sdk(file), name);
    const table = new Map(rows(heading).map(([, option = '', value]) => [option, value]));
    const names = [...members.map((member) => member.name), ...inherited];
    expect([...table.keys()].toSorted()).toEqual(names.toSorted());
    for (const { name: option, defaultText = '' } of members) {
      const amount = /^[\d_]+$/.exec(defaultText)?.[0];
      if (amount === undefined) continue;
      expect(table.get(option), option).toBe(
        Number(amount.replaceAll('_', '')).toLocaleString('en'),
      );
    }
  });

  it('has every error class, and the options of every call', () => {
    const classes = Object.keys(client).filter((name) => name.endsWith('Error'));
    const described = rows('Errors').map(([, name]) => name);
    expect([...described, 'ShortlinkError'].toSorted()).toEqual(classes.toSorted());
    const members = interfaceMembers(sdk('src/options.ts'), 'RequestOptions');
    const call = /Every call also takes `\{ (.*) \}`/.exec(readme)?.[1]?.split(', ');
    expect(call?.toSorted()).toEqual(members.map(({ name }) => name).toSorted());
  });
});
