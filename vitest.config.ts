import { defineConfig } from 'vitest/config';

/**
 * One project per package: `vitest run --project sdk` runs one alone. Unit tests stand beside the code
 * (`x.ts`, `x.test.ts`); type tests are `x.test-d.ts`; end-to-end tests drive built programs and so need `pnpm build`.
 */
const unit = (name: string, typecheck = false) => ({
  test: {
    name,
    root: `packages/${name}`,
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Most take milliseconds. Those of many rows or processes take seconds, and more on a machine that does much else.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    ...(typecheck && {
      typecheck: { enabled: true, include: ['src/**/*.test-d.ts'], tsconfig: 'tsconfig.json' },
    }),
  },
});

export default defineConfig({
  test: {
    // Most end-to-end tests wait: for windows to end, jobs, other processes. More files than cores at once make use of that.
    maxWorkers: 3,
    projects: [
      unit('sdk', true),
      unit('server'),
      unit('cli'),
      unit('tools'),
      {
        test: {
          name: 'e2e',
          root: 'packages/e2e',
          include: ['test/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      // The same tests on three servers that share a PostgreSQL, behind a balancer. Those that are left out open the SQLite file
      // themselves, or are about clients and pages.
      {
        test: {
          name: 'e2e-cluster',
          root: 'packages/e2e',
          include: ['create', 'batch', 'limits', 'sdk', 'import', 'restart', 'crash'].map(
            (name) => `test/${name}.test.ts`,
          ),
          env: { SHORTLINK_E2E_BACKEND: 'cluster' },
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
