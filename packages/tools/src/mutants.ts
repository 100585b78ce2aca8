// Plants small faults, one at a time, and lists those that no test notices.
//
//   pnpm mutants                                     60 of all packages, others each day
//   pnpm mutants packages/sdk/src/http/retry.ts      all of a file; a folder does as well
//   pnpm mutants --changed origin/main               those on lines that were changed since
//   pnpm mutants --count 200 --seed 7                as many, drawn from these numbers
//
// The faults are planted in a copy of the workspace. Each is tried with the tests of its package that reach the file, the nearest
// first, and the SDK from its source. A survivor may be equivalent to the code, or a test of a real server or database may notice it.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { env, execPath } from 'node:process';
import { parseArgs } from 'node:util';
import { ROOT } from './manifests.ts';
import { changedLines, nearestTests } from './mutants-scope.ts';
import { type Mutation, mutationsOf } from './mutations.ts';

/** The least share that the tests must notice, in percent. Some of the others are equivalent to the code. */
const LEAST_NOTICED = 75;

/** Test files that a fault is tried with first: most are noticed there. What is not is tried with all others. */
const NEAREST = 8;

/** A fault that makes the tests endless is noticed after so many times their usual time. */
const ENDLESS = 8;
const LEAST_LIMIT_MS = 60_000;

const PACKAGES = ['sdk', 'tables', 'cli', 'server', 'conformance'];

interface Mutant extends Mutation {
  file: string;
  text: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { changed: { type: 'string' }, count: { type: 'string' }, seed: { type: 'string' } },
});

const sandbox = join(ROOT, 'tmp/mutants');

async function main(): Promise<number> {
  const mutants = chosen();
  if (mutants.length === 0) {
    console.log('No line with a fault to plant.');
    return 0;
  }
  copyWorkspace();
  const usualMs = new Map<string, number>();
  let noticed = 0;
  for (const [index, mutant] of mutants.entries()) {
    const { file, text, start, end, replacement } = mutant;
    if (!usualMs.has(file)) usualMs.set(file, await usualTime(file));
    writeFileSync(join(sandbox, file), text.slice(0, start) + replacement + text.slice(end));
    const limitMs = Math.max(LEAST_LIMIT_MS, ENDLESS * (usualMs.get(file) ?? 0));
    const isNoticed = !(await doTestsPass(file, limitMs));
    writeFileSync(join(sandbox, file), text);
    if (isNoticed) noticed += 1;
    else console.log(`[${index + 1} of ${mutants.length}] not noticed: ${describe(mutant)}`);
  }
  const share = (100 * noticed) / mutants.length;
  console.log(`${mutants.length} faults planted, ${noticed} noticed (${share.toFixed(1)}%)`);
  return share < LEAST_NOTICED ? 1 : 0;
}

/** The mutants that the command line asks for. */
function chosen(): Mutant[] {
  const isAsked = positionals.length > 0 || values.changed !== undefined;
  const lines = values.changed === undefined ? undefined : changedLines(values.changed);
  const files = PACKAGES.flatMap((name) => globSync(`packages/${name}/src/**/*.ts`, { cwd: ROOT }))
    .filter((file) => !/\.test(-\w+)?\.ts$|\/migrations\//.test(file))
    .filter((file) => positionals.length === 0 || positionals.some((path) => file.startsWith(path)))
    .filter((file) => lines === undefined || lines.has(file))
    .toSorted();
  const all = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const changed = lines?.get(file);
    return mutationsOf(text)
      .map((mutation): Mutant => ({ ...mutation, file, text }))
      .filter((mutant) => changed === undefined || changed.has(lineOf(mutant)));
  });
  const count = Number(values.count ?? (isAsked ? 400 : 60));
  const today = Math.floor(Date.now() / 86_400_000);
  const drawn = drawnFrom(all, count, Number(values.seed ?? today));
  return drawn.toSorted((a, b) => all.indexOf(a) - all.indexOf(b));
}

/** So many of a list, by a seed. */
function drawnFrom<T>(all: readonly T[], count: number, seed: number): T[] {
  const left = [...all];
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return Array.from({ length: Math.min(count, all.length) }, () =>
    left.splice(next(left.length), 1),
  ).flat();
}

/** The sources of the workspace, beside the modules that are installed in it. */
function copyWorkspace(): void {
  rmSync(sandbox, { recursive: true, force: true });
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const file of files.split('\n')) {
    if (!existsSync(join(ROOT, file)) || file === '') continue;
    mkdirSync(dirname(join(sandbox, file)), { recursive: true });
    cpSync(join(ROOT, file), join(sandbox, file));
  }
  for (const folder of ['.', ...globSync('packages/*', { cwd: ROOT })]) {
    const modules = join(ROOT, folder, 'node_modules');
    if (existsSync(modules)) symlinkSync(modules, join(sandbox, folder, 'node_modules'));
  }
}

const packageOf = (file: string) => file.split('/').slice(0, 2).join('/');

/** How long the tests take without a fault. */
async function usualTime(file: string): Promise<number> {
  const startedAt = performance.now();
  if (!(await doTestsPass(file, Number.POSITIVE_INFINITY))) {
    throw new Error(`The tests that reach ${file} fail without a fault.`);
  }
  return performance.now() - startedAt;
}

async function doTestsPass(file: string, limitMs: number): Promise<boolean> {
  const root = packageOf(file);
  const tests = nearestTests(join(sandbox, root), file.slice(root.length + 1));
  const parts = [tests.slice(0, NEAREST), tests.slice(NEAREST)].filter(({ length }) => length > 0);
  for (const part of parts) if (!(await run(root, part, limitMs))) return false;
  return true;
}

async function run(root: string, tests: readonly string[], limitMs: number): Promise<boolean> {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const args = [
    'run',
    '--bail',
    '1',
    '--project',
    root.slice('packages/'.length),
    '--reporter',
    'dot',
  ];
  const child = spawn(execPath, [vitest, ...args, ...tests], {
    cwd: sandbox,
    env,
    stdio: 'ignore',
    detached: true,
  });
  const stop = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
  const timer = limitMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(stop, limitMs);
  const [code] = await once(child, 'exit');
  clearTimeout(timer);
  return code === 0;
}

const lineOf = ({ text, start }: Mutant) => text.slice(0, start).split('\n').length;

function describe(mutant: Mutant): string {
  const { file, text, start, end, replacement } = mutant;
  const flat = (code: string) => code.replaceAll(/\s+/g, ' ').trim().slice(0, 100);
  return `${file}:${lineOf(mutant)}  ${flat(text.slice(start, end))}  ->  ${flat(replacement) || 'nothing'}`;
}

process.exitCode = await main();
