import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { SERVER_PROGRAM } from '../src/programs.ts';
import { runProgram } from '../src/run-program.ts';
import { World } from '../src/world.ts';

let world: World;
beforeAll(async () => {
  world = await World.create();
});
beforeEach(() => world.newFolder());
afterAll(() => world[Symbol.asyncDispose]());

const HOST = 'go.example.com';

/** Runs a command of the operator on the database of the running server. */
async function operate(...args: string[]): Promise<string> {
  const where = ['--database', world.database, '--public-url', world.server.url];
  const run = await runProgram(SERVER_PROGRAM, [...args, ...where], { cwd: world.folder });
  expect(run.exitCode, run.stderr).toBe(0);
  return run.stdout;
}

interface Exported {
  code: string;
  target_url: string;
  is_active: boolean;
  aliases: string[];
}

const LINKS = 60;
const PLANTED = 20;

test(`a house moves in: every old address is verified before the switch, and ${PLANTED} planted faults are found`, async () => {
  const { account } = await world.caller('community');
  await operate('domains', 'add', HOST, '--account', account.id);
  const links = Array.from({ length: LINKS }, (_, n) => ({
    ...{ link: `https://bit.example/L${n}`, long_url: `https://example.com/${n}?a=b%20c` },
    ...{ title: `Link ${n}`, archived: n % 10 === 9, created_at: '2022-10-24T10:40:37+0000' },
    custom_bitlinks: n % 2 === 0 ? [] : [`https://bit.example/custom/${n}-é`],
  }));
  await writeFile(world.path('bitly.json'), JSON.stringify({ links }));
  const into = ['--account', account.id, '--host', `bit.example=${HOST}`];
  await operate('links', 'import', 'bitly.json', ...into);
  await operate('links', 'export', '--account', account.id, '--format', 'jsonl', '-o', 'all.jsonl');
  const rows: Exported[] = (await readFile(world.path('all.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const resolve = ['--resolve', new URL(world.server.url).host, '--json'];
  const verify = async (name: string) => {
    const run = await world.cli('sl_none', ['verify', name, ...resolve]);
    return { ...run, file: JSON.parse(run.stdout).files[0] };
  };
  const right = await verify('all.jsonl');
  expect(right.exitCode, right.stderr).toBe(0);
  // Each link has its new address and one or two old ones.
  expect(right.file).toMatchObject({ ok: LINKS * 2 + LINKS / 2, wrong: 0 });

  // Each edit plants one fault in a line of its own.
  const first = (edit: (url: string) => string) => (row: Exported) => {
    row.aliases[0] = edit(row.aliases[0] ?? '');
  };
  const edits: ((row: Exported) => void)[] = [
    first((url) => `${url}/`),
    first((url) => url.replace('/L', '/l')),
    first((url) => url.replace(HOST, 'went.example.com')),
    first((url) => `${url}0000`),
    first(() => `http://${HOST}/api/v1/links`),
    (row) => row.aliases.push(`http://${HOST}/never`),
    (row) => {
      row.is_active = !row.is_active;
    },
    (row) => {
      // Of a link that is switched off, nobody can see where it leads.
      if (row.is_active) row.target_url = row.target_url.replace('?a=', '?A=');
      else row.is_active = true;
    },
  ];
  const lines = new Set<number>();
  for (let n = 0; n < PLANTED; n += 1) {
    const row = rows[n * 3];
    if (row === undefined) throw new Error('too few links');
    edits[n % edits.length]?.(row);
    lines.add(n * 3 + 1);
  }
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  await writeFile(world.path('faults.jsonl'), text);
  const found = await verify('faults.jsonl');
  expect(found.exitCode, found.stderr).toBe(3);
  const problems: { line: number }[] = found.file.problems;
  expect(new Set(problems.map(({ line }) => line))).toEqual(lines);
});
