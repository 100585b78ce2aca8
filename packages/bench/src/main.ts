import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Children } from './frame/children.ts';
import { formatMachine, formatSection, type MeasuredSection } from './frame/format.ts';
import { describeMachine, loadAverage } from './frame/machine.ts';
import { type BenchOptions, parseOptions, UsageError } from './frame/options.ts';
import type { SectionContext, Suite } from './frame/section.ts';

const USAGE = `pnpm bench sdk|server|cli [--only SECTION]... [--rounds N] [--scale F] [--large] [--json]`;

/** Each suite is loaded only when it is asked for, since it brings libraries of its own. */
const SUITES: Readonly<Record<string, () => Promise<{ suite: Suite }>>> = {
  sdk: () => import('./sdk/suite.ts'),
  server: () => import('./server/suite.ts'),
  cli: () => import('./cli/suite.ts'),
};

async function bench(options: BenchOptions): Promise<void> {
  const { suite } = (await SUITES[options.suite]?.()) ?? {};
  if (suite === undefined) throw new UsageError(`there is no suite "${options.suite}"`);
  const unknown = options.only.find((name) => !(name in suite));
  if (unknown !== undefined) {
    throw new UsageError(`there is no section "${unknown}"; expected ${Object.keys(suite)}`);
  }
  const machine = describeMachine();
  const measured: MeasuredSection[] = [];
  if (!options.json) console.log(formatMachine(machine));
  for (const [name, measure] of Object.entries(suite)) {
    if (options.only.length > 0 && !options.only.includes(name)) continue;
    console.error(`${name} ...`);
    const section = await runSection(name, measure, options);
    measured.push(section);
    if (!options.json) console.log(formatSection(section));
  }
  if (options.json) console.log(JSON.stringify({ machine, sections: measured }, undefined, 2));
}

async function runSection(
  name: string,
  measure: Suite[string],
  { rounds, scale, large }: BenchOptions,
): Promise<MeasuredSection> {
  const children = new Children();
  const directory = await mkdtemp(join(tmpdir(), 'shortlink-bench-'));
  const onExit = () => {
    children.kill();
    rmSync(directory, { recursive: true, force: true });
  };
  process.once('exit', onExit);
  const context: SectionContext = { rounds, scale, large, children, directory };
  const load = loadAverage();
  const startedAt = performance.now();
  try {
    const section = await measure(context);
    const seconds = (performance.now() - startedAt) / 1000;
    return { name, ...section, loadAverage: load, seconds };
  } finally {
    await children.stopAll();
    await rm(directory, { recursive: true, force: true });
    process.removeListener('exit', onExit);
  }
}

/** A run that is interrupted leaves no process and no file. */
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

try {
  await bench(parseOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`${error.message}\n${USAGE}`);
  process.exitCode = 2;
}
