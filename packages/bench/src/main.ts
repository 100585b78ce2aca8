import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { recordSections } from './frame/figures.ts';
import { describeMachine, formatSection, type MeasuredSection } from './frame/format.ts';
import { Children } from './frame/processes.ts';
import type { SectionContext, Suite } from './frame/section.ts';

const USAGE =
  'pnpm bench sdk|server|cli [--only SECTION]... [--rounds N] [--scale F] [--large] [--json] [--write]';

const DEFAULT_ROUNDS = 7;

/** The suites, each with its sections in the order they run. A suite is loaded when it is asked for, since it brings libraries of its own. */
const SUITES: Readonly<Record<string, () => Promise<Suite>>> = {
  sdk: async () => {
    const { measureBulkJobs, measureBulkSync } = await import('./sdk/bulk.ts');
    const { measureConcurrent, measureSequential } = await import('./sdk/requests.ts');
    return {
      size: (await import('./sdk/bundle-size.ts')).measureSizes,
      cold: (await import('./sdk/cold-start.ts')).measureColdStart,
      sequential: measureSequential,
      concurrent: measureConcurrent,
      'bulk-sync': measureBulkSync,
      'bulk-jobs': measureBulkJobs,
    };
  },
  cli: async () => {
    const imports = await import('./cli/import.ts');
    return {
      'start-up': (await import('./cli/start-up.ts')).measureStartUp,
      parsers: (await import('./cli/parsers.ts')).measureParsers,
      import: imports.measureImport,
      'import-json-lines': imports.measureJsonLines,
      'import-own-server': imports.measureOwnServer,
      'import-large': imports.measureLargeImport,
    };
  },
  server: async () => {
    const { measureJobs, measureSyncBatches } = await import('./server/batches.ts');
    const { measureRedirects, measureRedirectsOnPostgres } = await import('./server/redirects.ts');
    const moving = await import('./server/moving-in.ts');
    return {
      redirects: measureRedirects,
      'redirects-postgres': measureRedirectsOnPostgres,
      creates: (await import('./server/creates.ts')).measureCreates,
      'batches-sync': measureSyncBatches,
      'batches-jobs': measureJobs,
      'redirects-beside-jobs': (await import('./server/redirects-beside-jobs.ts'))
        .measureRedirectsBesideJobs,
      'moving-in': moving.measureMovingIn,
      'moving-in-postgres': moving.measureMovingInOnPostgres,
      growth: (await import('./server/growth.ts')).measureGrowth,
    };
  },
};

/** A command line that can't be used; the message says what is accepted. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

type Options = ReturnType<typeof parseOptions>;

/** @throws UsageError */
function parseOptions(args: string[]) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        only: { type: 'string', multiple: true, default: [] },
        rounds: { type: 'string' },
        scale: { type: 'string' },
        large: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        write: { type: 'boolean', default: false },
      },
    });
    const [suite = '', ...rest] = positionals;
    if (suite === '' || rest.length > 0) throw new Error('name one suite');
    return {
      ...values,
      suite,
      rounds: positive('--rounds', values.rounds, DEFAULT_ROUNDS),
      scale: positive('--scale', values.scale, 1),
    };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function positive(name: string, text: string | undefined, whenNotGiven: number): number {
  if (text === undefined) return whenNotGiven;
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${name} is "${text}"; expected a number above 0`);
  return value;
}

async function bench(options: Options): Promise<void> {
  const suite = await SUITES[options.suite]?.();
  if (suite === undefined) throw new UsageError(`there is no suite "${options.suite}"`);
  const unknown = options.only.find((name) => !(name in suite));
  if (unknown !== undefined) {
    throw new UsageError(`there is no section "${unknown}"; expected ${Object.keys(suite)}`);
  }
  const measured: MeasuredSection[] = [];
  for (const [name, measure] of Object.entries(suite)) {
    if (options.only.length > 0 && !options.only.includes(name)) continue;
    console.error(`${name} ...`);
    const section = await runSection(name, measure, options);
    measured.push(section);
    if (!options.json) console.log(formatSection(section));
    // After each section, so that an interrupted run loses no figures.
    if (options.write) await recordSections(options.suite, Object.keys(suite), [section]);
  }
  if (options.json) console.log(JSON.stringify(measured, undefined, 2));
}

async function runSection(
  name: string,
  measure: Suite[string],
  { rounds, scale, large }: Options,
): Promise<MeasuredSection> {
  const children = new Children();
  const directory = await mkdtemp(join(tmpdir(), 'shortlink-bench-'));
  const onExit = () => {
    children.kill();
    rmSync(directory, { recursive: true, force: true });
  };
  process.once('exit', onExit);
  const context: SectionContext = { rounds, scale, large, children, directory };
  const machine = describeMachine();
  try {
    return { name, ...(await measure(context)), machine };
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
