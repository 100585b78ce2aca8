import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { runConformance } from '@shortlink/conformance';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runProcess } from '../runtimes/drivers/run-process.ts';
import { CONFORMANCE_PROGRAM, commandOf } from '../src/programs.ts';
import { runProgram } from '../src/run-program.ts';
import { World } from '../src/world.ts';

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Runs the built program in a folder of its own, on the server. */
async function programOn(key: string) {
  await world.newFolder();
  return (...args: string[]) =>
    runProgram(CONFORMANCE_PROGRAM, ['--budget-requests', '60', ...args], {
      cwd: world.folder,
      env: { SHORTLINK_BASE_URL: world.server.url, SHORTLINK_API_KEY: key },
    });
}

test('the program reports, writes its files, and ends with 1 where a list of failures is stale', async () => {
  const { key } = await world.caller('custom');
  const run = await programOn(key);
  const passed = await run('--junit', 'report.xml', '--html', 'report.html');
  expect(passed.stderr).toBe('');
  expect(passed.stdout).toMatch(/Protocol 1 at .*: 3\d hold, 0 fail, 1\d not shown\./);
  expect(passed.exitCode).toBe(0);
  expect(await readFile(world.path('report.xml'), 'utf8')).toContain(
    '<testsuite name="protocol" tests="48" failures="0"',
  );
  expect(await readFile(world.path('report.html'), 'utf8')).toContain('POST /api/v1/links');
  const known = '# Fixed last week.\ncreated-at # once a number\n';
  // As `>` of PowerShell writes it, too.
  for (const bytes of [known, Buffer.from(`\ufeff${known}`, 'utf16le')]) {
    await writeFile(world.path('known.txt'), bytes);
    const stale = await run('--core', '--expected', 'known.txt');
    expect(stale.stdout).toContain('"created-at" is expected to fail, but it holds');
    expect(stale.exitCode).toBe(1);
  }
});

test('the program ends with 2 and one sentence where it can not check anything', async () => {
  const run = await programOn('no-such-key');
  for (const [args, sentence] of [
    [[], `${world.server.url} does not accept the API key (401).`],
    [['--expected', 'missing.txt'], 'missing.txt'],
    [['--junit', 'missing/report.xml'], 'missing/report.xml'],
    [['--html', '.'], "open '.'"],
    [['--plan', 'gold'], '--plan: "gold" is none of'],
    [['--budget-links', 'few'], '--budget-links: "few" is no whole number.'],
    [['--budget', '3'], "'--budget'"],
  ] as const) {
    const { exitCode, stdout, stderr } = await run(...args);
    expect(stderr).toContain(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect([exitCode, stdout]).toEqual([2, '']);
  }
});

test('a report of an earlier run does not stand for one that could not begin', async () => {
  const files = ['report.xml', 'report.html'];
  const run = await programOn('no-such-key');
  for (const [args, sentence] of [
    [[], 'does not accept the API key (401).'],
    [['--plan', 'gold'], '--plan: &quot;gold&quot; is none of'],
  ] as const) {
    for (const file of files) await writeFile(world.path(file), 'all statements hold');
    const { exitCode } = await run('--junit', 'report.xml', '--html', 'report.html', ...args);
    expect(exitCode).toBe(2);
    const [junit, html] = await Promise.all(
      files.map((file) => readFile(world.path(file), 'utf8')),
    );
    expect(junit).toContain('tests="1" failures="1"');
    for (const report of [junit, html]) expect(report).toContain(sentence);
  }
});

test('with --json the program prints a report also where it can not check anything', async () => {
  const run = await programOn('no-such-key');
  for (const args of [[], ['--plan', 'gold']]) {
    const { exitCode, stdout, stderr } = await run('--json', ...args);
    const reason = stderr.trim();
    expect(JSON.parse(stdout)).toMatchObject({ isPassed: false, verdicts: [{ reason }] });
    expect(exitCode).toBe(2);
  }
});

test.runIf(existsSync('/dev/full'))(
  'output that no disk takes ends the program with 2',
  async () => {
    const { key } = await world.caller('custom');
    const [node, program] = commandOf(CONFORMANCE_PROGRAM);
    const command = `"${node}" "${program}" --core --budget-requests 5 > /dev/full`;
    const env = { SHORTLINK_BASE_URL: world.server.url, SHORTLINK_API_KEY: key };
    const { exitCode, stderr } = await runProgram('/bin/sh', ['-c', command], { env });
    expect([exitCode, stderr]).toEqual([2, 'ENOSPC: no space left on device, write\n']);
  },
);

test('the reports of a run that is interrupted say so', async () => {
  await world.newFolder();
  let program: ChildProcess | undefined;
  const silent = createServer(() => program?.kill('SIGINT')).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const service = ['--base-url', `http://127.0.0.1:${port}`, '--api-key', 'any-key'];
  const reports = ['--junit', 'report.xml', '--html', 'report.html'];
  const onStart = (child: ChildProcess) => {
    program = child;
  };
  const options = { cwd: world.folder, onStart };
  const { signal } = await runProgram(CONFORMANCE_PROGRAM, [...service, ...reports], options);
  silent.closeAllConnections();
  silent.close();
  expect(signal).toBe('SIGINT');
  for (const file of ['report.xml', 'report.html']) {
    expect(await readFile(world.path(file), 'utf8')).toContain('The run did not end.');
  }
});

test('the program takes a second key and custom domains, and its own key before that of the environment', async () => {
  const { account, key } = await world.caller('custom');
  const { key: readKey } = await world.key(account.id, 'analytics:read');
  const store = await world.store();
  const domains: string[] = [];
  for (const hostname of ['one.example', 'two.example']) {
    const domain = await store.addDomain({ hostname, accountId: account.id, now: Date.now() });
    domains.push('--domain-id', domain?.id ?? '');
  }
  const run = await programOn('no-such-key');
  const keys = ['--api-key', key, '--read-key', readKey, ...domains];
  const { stdout, exitCode } = await run(...keys, '--core', '--json', '--budget-requests', '90');
  const { verdicts }: Awaited<ReturnType<typeof runConformance>> = JSON.parse(stdout);
  const shown = verdicts.filter(({ result }) => result === 'holds').map(({ id }) => id);
  const expected = ['write-permission', 'custom-domain', 'batch-domain'];
  expect(shown).toEqual(expect.arrayContaining(expected));
  expect(exitCode).toBe(0);
});

test('a key may come with the end of its line, as it does from a file', async () => {
  const { key } = await world.caller('custom');
  const run = await programOn(`${key}\n`);
  const { stdout, exitCode } = await run('--core', '--read-key', 'no-such-key\n');
  expect(stdout).toContain('[write-permission]\n      fails: the status is 401, not 403');
  expect(stdout).toMatch(/Protocol 1 at .*: 3\d hold, 1 fail, 1\d not shown\./);
  expect(exitCode).toBe(1);
});

test('the time limits of the program are seconds', async () => {
  const { key } = await world.caller('custom');
  let isFirst = true;
  const slow = createServer(async (_request, response) => {
    await new Promise((resolve) => setTimeout(resolve, isFirst ? 300 : 0));
    const body = { error: 'At most 15 requests per minute.' };
    if (isFirst) response.writeHead(429, { 'Retry-After': '1' }).end(JSON.stringify(body));
    else response.writeHead(500).end(JSON.stringify({ error: 'Oops.' }));
    isFirst = false;
  }).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const run = await programOn(key);
  const { port } = slow.address() as AddressInfo;
  const limits = ['--timeout', '20', '--max-wait', '1', '--budget-requests', '3'];
  const { stderr, exitCode } = await run('--base-url', `http://127.0.0.1:${port}`, ...limits);
  slow.close();
  expect([stderr, exitCode]).toEqual(['', 1]);
});

/** Deno may use only the network. */
const RUNTIMES = [
  { program: 'bun/bin/bun.exe', args: ['run'] },
  {
    program: 'deno/deno',
    args: ['run', '--no-prompt', '--no-remote', '--allow-net=127.0.0.1'],
  },
];

test.each(RUNTIMES)('the library runs in $program', async ({ program, args }) => {
  await world.newFolder();
  const { key: apiKey } = await world.caller('custom');
  const library = import.meta.resolve('@shortlink/conformance');
  const options = { baseUrl: world.server.url, apiKey, budgetRequests: 60, isCoreOnly: true };
  const script = world.path('check.mjs');
  await writeFile(
    script,
    `import { runConformance, textReport } from ${JSON.stringify(library)};
     console.log(textReport(await runConformance(${JSON.stringify(options)})));`,
  );
  const printed = await runProcess(fileURLToPath(import.meta.resolve(program)), [...args, script]);
  expect(printed).toMatch(/Protocol 1 at .*: 3\d hold, 0 fail, 1\d not shown\./);
});
