import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeBlocks } from '../src/code-blocks.ts';
import { PAGES, programs, readPage } from '../src/documented-code.ts';
import { CLI_PROGRAM, SERVER_PROGRAM } from '../src/programs.ts';
import { runCommand } from '../src/run-command.ts';
import { filledIn, runPage } from '../src/run-page.ts';
import { runProgram } from '../src/run-program.ts';
import { World } from '../src/world.ts';

let world: World;
let key: string;
let folder: string;

beforeAll(async () => {
  world = await World.create({ args: ['--target-deny', 'denied.example'] });
  ({ key } = await world.caller('custom'));
  folder = await mkdtemp(join(tmpdir(), 'shortlink-documented-'));
  // Packages resolve from there as they do from here.
  await symlink(
    fileURLToPath(new URL('../node_modules', import.meta.url)),
    join(folder, 'node_modules'),
  );
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** The programs of each page, and those in the doc comments of each package. One that is a test of its own runs when the others have ended. */
const PROGRAMS = Object.entries(
  Object.groupBy(programs(), ({ name }) => name.replace(/\/src\/.*/, '/src')),
).map(([name, code = []]) => ({
  name,
  code: code.toSorted((a, b) => Number(isTest(a.code)) - Number(isTest(b.code))),
}));

function isTest(code: string): boolean {
  return code.includes("from 'node:test'");
}

// One process for all programs of a page: to start one and to load the client takes longer than most programs. It ends by itself, so that
// none of them leaves anything open.
test.each(PROGRAMS)('the programs of $name run to their end', async ({ name, code }) => {
  const files: string[] = [];
  for (const { name, line, code: program } of code) {
    const file = `${name}:${line}`.replaceAll(/\W/g, '-');
    // Their types are removed here: each process would take a tenth of a second to load what removes them.
    const text = stripTypeScriptTypes(filledIn(program, key, world.server.url));
    await writeFile(join(folder, `${file}.js`), text);
    files.push(file);
  }
  const all = join(folder, `${name.replaceAll(/\W/g, '-')}.js`);
  const run = (file: string) =>
    `await import('./${file}.js');\nconsole.log('${file} has ended');\n`;
  await writeFile(all, files.map(run).join(''));
  const env = { SHORTLINK_API_KEY: key, SHORTLINK_BASE_URL: world.server.url };
  const { exitCode, stdout, stderr } = await runProgram(all, [], { cwd: folder, env });
  expect([exitCode, stderr]).toEqual([0, expect.not.stringMatching(/Error|unknown|failed/)]);
  expect(stdout.match(/^\S+(?= has ended$)/gm)).toEqual(files);
  // Statements of the protocol speak of unknown codes and jobs.
  if (!name.includes('conformance'))
    expect(stdout).not.toMatch(/unknown|may exist|undefined|false/);
});

const GUIDES = PAGES.map((name) => ({ name, blocks: codeBlocks(readPage(name)) })).filter(
  // The examples have a test of their own.
  ({ name, blocks }) =>
    !name.startsWith('examples') &&
    !name.startsWith('packages/bench') &&
    blocks.some(({ language }) => language === 'sh'),
);

describe('the commands of', () => {
  // Each page is read alone: on an account of its own, no link of another page is in its way.
  test.each(GUIDES)('$name', async ({ name, blocks }) => {
    const { key } = await world.caller('custom');
    await runPage(name, blocks, { world, key });
  });

  test('a page that names a file that isn’t there fail', async () => {
    const blocks = codeBlocks('```sh\nshortlink import nowhere.csv\ntrue\n```\n');
    await expect(runPage('broken', blocks, { world, key })).rejects.toThrow(/nowhere\.csv/);
  });
});

/** Commands that need more than this machine: a service manager, containers, certificates, a database server, other hosts. They are not run. */
const SHOWN = PAGES.flatMap((name) =>
  codeBlocks(readPage(name))
    .filter(({ language }) => language === 'shell')
    .map(({ code, line }) => ({ at: `${name}:${line}`, code })),
);

describe('the commands that are only shown', () => {
  const helps = new Map<string, ReturnType<typeof runProgram>>();
  /** The help of a command, which several pages show. */
  const helpOf = (file: string, words: string) => {
    const found = helps.get(file + words) ?? runProgram(file, [...words.split(' '), '--help']);
    helps.set(file + words, found);
    return found;
  };

  test.each(SHOWN)('$at needs another machine, and has options that exist', async ({ code }) => {
    expect(code).toMatch(
      /docker|systemctl|\/etc\/|\/var\/lib|\/backups|postgres:|pg_|caddy|certbot|install --global|pnpm@12|--targets|--resolve|links\.sh|releases\/download/,
    );
    const ours = /\b(shortlink(?:-server)?) ((?:[a-z]+ ?)*)(.*)$/gm;
    for (const [, program, words = '', rest = ''] of code.matchAll(ours)) {
      if (words.trim() === '') continue;
      const file = program === 'shortlink' ? CLI_PROGRAM : SERVER_PROGRAM;
      const help = await helpOf(file, words.trim());
      expect([words, help.exitCode]).toEqual([words, 0]);
      for (const [flag] of rest.matchAll(/--[a-z-]+/g)) expect(help.stdout).toContain(flag);
    }
  });
});

test('bash is there to run them', async () => {
  expect(await runCommand('bash', ['-c', 'echo ok'], { cwd: folder })).toBe('ok\n');
});
