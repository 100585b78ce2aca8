import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { keepTempInMemory } from './packages/tools/test/temp-in-memory.ts';

/**
 * Every process and thread of the tests keeps what Node compiles there. Those that run TypeScript, such as the server's writer
 * threads, would otherwise compile all of it again at each start, which is half of their time.
 */
env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

// Each night the files of the tests are on a disk.
if (env['SHORTLINK_TEST_NIGHT'] === undefined) keepTempInMemory();

/** What a test imports that starts a process, listens on a port, or opens a database on a disk. */
const REAL_THINGS =
  /node:(child_process|http|net|tls|cluster|worker_threads)|(start|test)-postgres|temp-database|database-path|-process\.ts|start-server|fork|cutting-proxy/;

/** Tests of many random cases: the longest of those that need nothing real. */
const LONG = ['test/import/mixed-rows.property.test.ts', 'src/bulk/create-many.property.test.ts'];

/** Tests that take a moment although they import such a thing, for a test or two. */
const FAST_ALL_THE_SAME = [
  'src/import/report/output-file.test.ts',
  'test/import/mounted-file.test.ts',
  'test/what-is-left.test.ts',
];

/** What `pnpm test:fast` leaves out of a package. It follows from what the files import, so that no list can become outdated. */
export const slowTestsOf = (root: string) =>
  globSync('{src,test}/**/*.test.ts', { cwd: root })
    .filter((file) => !FAST_ALL_THE_SAME.includes(file))
    .filter((file) => REAL_THINGS.test(readFileSync(join(root, file), 'utf8')))
    .concat(LONG);

/**
 * Most tests take milliseconds, those of many rows or processes seconds. On a machine that does much else all of them take many times
 * as long; only a program that hangs takes this long. Tests wait for something with `expect.poll`, and only those that work for minutes state a longer limit.
 */
const LIMITS = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 100_000 } },
};

const DRAWN_CASES = join(import.meta.dirname, 'packages/tools/test/drawn-cases.ts');
const WRITER = [join(import.meta.dirname, 'packages/tools/test/bundle-writer.ts')];
const SERVER_SETUP = [join(import.meta.dirname, 'packages/server/test/put-back-globals.ts')];

/** The SDK from its sources, so that a change of it is tested at once, and nothing has to be built. */
const SDK = join(import.meta.dirname, 'packages/sdk/src');
const PRELOADED = join(import.meta.dirname, 'packages/tools/test/sdk-from-source.ts');
const FROM_SOURCE = [
  { find: /^@shortlink\/sdk$/, replacement: join(SDK, 'index.ts') },
  { find: /^@shortlink\/sdk\/wire$/, replacement: join(SDK, 'wire/index.ts') },
];

/**
 * One project per package: `vitest run --project sdk` runs one alone. Unit tests stand beside the code
 * (`x.ts`, `x.test.ts`). The assertions of type tests (`x.test-d.ts`) are types, so `pnpm typecheck` checks them. End-to-end tests
 * drive built programs and so need `pnpm build`.
 */
const unit = (
  name: string,
  {
    isFast = false,
    setupFiles = [] as string[],
    globalSetup = [] as string[],
    inline = [] as RegExp[],
  } = {},
) => ({
  resolve: { alias: FROM_SOURCE },
  test: {
    name,
    root: `packages/${name}`,
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: isFast ? slowTestsOf(`packages/${name}`) : [],
    execArgv: ['--import', PRELOADED],
    // Files share processes: to start one and to load everything again for each takes longer than most files' tests.
    // So a test file puts back what it replaces.
    isolate: false,
    setupFiles: [DRAWN_CASES, ...setupFiles],
    globalSetup,
    server: { deps: { inline } },
    ...LIMITS,
  },
});

const e2e = {
  name: 'e2e',
  root: 'packages/e2e',
  include: ['test/**/*.test.ts'],
  isolate: false,
  setupFiles: [DRAWN_CASES],
  ...LIMITS,
  testTimeout: 300_000,
  hookTimeout: 300_000,
};

/**
 * The same tests on three servers that share a PostgreSQL, behind a balancer. Those that are left out open the SQLite file
 * themselves, or are about clients and pages. Each night plays all of them. Other runs play those of which no other test with several servers
 * or with PostgreSQL shows the same.
 */
const ON_CLUSTER = ['conformance'].concat(
  env['SHORTLINK_TEST_NIGHT'] ? ['restart', 'crash', 'limits', 'sdk', 'import-interrupted'] : [],
);
const cluster = {
  ...e2e,
  name: 'e2e-cluster',
  include: ON_CLUSTER.map((name) => `test/${name}.test.ts`),
  env: { SHORTLINK_E2E_BACKEND: 'cluster' },
};

/**
 * Files that take the longest by the clock, some of which only wait: first, so that none of them is left alone at the end. A clean checkout
 * knows no times of earlier runs.
 */
const DEAR = [
  'e2e/test/cli-terminal',
  'e2e/test/runtimes',
  'e2e/test/import-lost',
  'e2e/test/cluster-outage',
  'e2e/test/restart',
  'e2e/test/limits',
  'e2e/test/action',
  'e2e/test/simulator',
  'e2e/test/documented-code',
  'e2e/test/crash',
  'e2e/test/kill',
  'server/test/process',
  'server/src/store/postgres/contract',
  'server/src/store/postgres/failures',
  'server/src/store/sqlite/writers',
  'server/src/store/sqlite/contract',
];

/** After these, from the projects with long files to those with short ones. */
const ORDER = ['e2e', 'e2e-cluster', 'server', 'tools', 'conformance', 'cli', 'tables', 'sdk'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification) => {
      const isLong = LONG.some((file) => moduleId.endsWith(file));
      const dear = DEAR.findIndex((file) => moduleId.endsWith(`/${file}.test.ts`));
      if (isLong || dear >= 0) return isLong ? -DEAR.length : dear - DEAR.length;
      return ORDER.indexOf(project.name);
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/** `--mode fast` (`pnpm test:fast`) runs what needs no real server, browser or database on a disk. */
export default defineConfig(({ mode }) => ({
  test: {
    // Most end-to-end tests wait: for jobs, other processes, disks. More files than cores at once make use of that.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    projects:
      mode === 'fast'
        ? [
            unit('sdk', { isFast: true }),
            unit('server', { isFast: true, setupFiles: SERVER_SETUP, globalSetup: WRITER }),
            unit('cli', { isFast: true }),
            unit('tables', { isFast: true }),
          ]
        : [
            unit('sdk'),
            unit('server', { setupFiles: SERVER_SETUP, globalSetup: WRITER }),
            unit('cli'),
            unit('tables'),
            // The linter of workflows imports JSON, which only a bundler lets it do.
            unit('tools', { inline: [/@actions\//] }),
            unit('conformance', { setupFiles: SERVER_SETUP }),
            { test: e2e },
            { test: cluster },
          ],
  },
}));
