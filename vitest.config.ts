import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Every process and thread of the tests keeps what Node compiles there. Those that run TypeScript, such as the server's writer
 * threads, would otherwise compile all of it again at each start, which is half of their time.
 */
env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

/** What a test imports that starts a process, listens on a port, or opens a database on a disk. */
const REAL_THINGS =
  /node:(child_process|http|net|tls|cluster|worker_threads)|(start|test)-postgres|temp-database|database-path|-process\.ts|start-server|start-test-server|fork|cutting-proxy|contract\.test-suite/;

/** Tests of many random cases: the longest of those that need nothing real. */
const LONG = [
  'test/import/histories.property.test.ts',
  'test/import/mixed-rows.property.test.ts',
  'src/bulk/create-many.property.test.ts',
];

/** What `pnpm test:fast` leaves out of a package. It follows from what the files import, so that no list can become outdated. */
export const slowTestsOf = (root: string) =>
  globSync('{src,test}/**/*.test.ts', { cwd: root })
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

const SERVER_SETUP = [join(import.meta.dirname, 'packages/server/test/put-back-globals.ts')];

/**
 * One project per package: `vitest run --project sdk` runs one alone. Unit tests stand beside the code
 * (`x.ts`, `x.test.ts`). The assertions of type tests (`x.test-d.ts`) are types, so `pnpm typecheck` checks them. End-to-end tests
 * drive built programs and so need `pnpm build`.
 */
const unit = (
  name: string,
  { isFast = false, setupFiles = [] as string[], inline = [] as RegExp[] } = {},
) => ({
  test: {
    name,
    root: `packages/${name}`,
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: isFast ? slowTestsOf(`packages/${name}`) : [],
    // Files share processes: to start one and to load everything again for each takes longer than most files' tests.
    // So a test file puts back what it replaces.
    isolate: false,
    setupFiles,
    server: { deps: { inline } },
    ...LIMITS,
  },
});

const e2e = {
  name: 'e2e',
  root: 'packages/e2e',
  include: ['test/**/*.test.ts'],
  isolate: false,
  ...LIMITS,
  testTimeout: 300_000,
  hookTimeout: 300_000,
};

/**
 * The same tests on three servers that share a PostgreSQL, behind a balancer. Those that are left out open the SQLite file
 * themselves, or are about clients and pages.
 */
const cluster = {
  ...e2e,
  name: 'e2e-cluster',
  include: ['limits', 'sdk', 'import-interrupted', 'restart', 'crash', 'conformance'].map(
    (name) => `test/${name}.test.ts`,
  ),
  env: { SHORTLINK_E2E_BACKEND: 'cluster' },
};

/** After the longest files, from the projects with long ones to those with short ones, so that no long file runs alone at the end. */
const ORDER = ['e2e', 'e2e-cluster', 'server', 'tools', 'conformance', 'cli', 'tables', 'sdk'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification) =>
      LONG.some((file) => moduleId.endsWith(file)) ? -1 : ORDER.indexOf(project.name);
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/** `--mode fast` (`pnpm test:fast`) runs what needs no real server, browser or database on a disk. */
export default defineConfig(({ mode }) => ({
  test: {
    // Most end-to-end tests wait: for jobs, other processes, disks. More files than cores at once make use of that.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects:
      mode === 'fast'
        ? [
            unit('sdk', { isFast: true }),
            unit('server', { isFast: true, setupFiles: SERVER_SETUP }),
            unit('cli', { isFast: true }),
            unit('tables', { isFast: true }),
          ]
        : [
            unit('sdk'),
            unit('server', { setupFiles: SERVER_SETUP }),
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
