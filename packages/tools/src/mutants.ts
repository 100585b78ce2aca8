// Changes the code in thousands of small ways, one at a time, and counts how many of these mutants the tests notice.
//
//   pnpm mutants                    all folders: an hour or more
//   pnpm mutants sdk/http           one folder
//   pnpm mutants sdk/http/retry     one file, in minutes
//   pnpm mutants --write            write the page packages/tools/mutants.md from the last results, without a run
//
// Results are kept in node_modules/.cache/mutants: the next run tries only what a change of code or tests could have changed.
// A survivor that no test can notice gets its reason in mutants.json.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { parseArgs } from 'node:util';
import { ROOT } from './manifests.ts';
import { type Folders, pageOf, resultOf, scoreOf } from './mutants-record.ts';

/** Installed when it is asked for: 60 MB that only those who run this need. */
const STRYKER = '10.1.1';
const CACHE = join(ROOT, 'node_modules/.cache/mutants');
const TOOL = join(CACHE, `stryker-${STRYKER}`);
const RECORD = join(ROOT, 'packages/tools/src/mutants.json');
const PAGE = join(ROOT, 'packages/tools/mutants.md');

/** The least share of mutants that the tests of each folder must notice, in percent. */
const LEAST_SCORE = 90;

/** What is mutated, and the tests that must notice: those beside the code, and those of the parts around it. */
const FOLDERS: Record<string, { code: string; tests: readonly string[] }> = {
  'sdk/http': {
    code: 'packages/sdk/src/http',
    tests: ['packages/sdk/src/http/*.test.ts', 'packages/sdk/test/*.test.ts'],
  },
  'sdk/bulk': {
    code: 'packages/sdk/src/bulk',
    tests: ['packages/sdk/src/bulk/*.test.ts', 'packages/sdk/test/bulk*.test.ts'],
  },
  'cli/journal': {
    code: 'packages/cli/src/import/journal',
    tests: [
      'packages/cli/src/import/journal/*.test.ts',
      'packages/cli/test/import/{prepared-folder,lost-journal,unrecorded-response}.test.ts',
    ],
  },
  'cli/send': {
    code: 'packages/cli/src/import/send',
    tests: [
      'packages/cli/src/import/send/*.test.ts',
      'packages/cli/test/import/{everyday,idempotency-key,lost-journal,resume,run-import,unrecorded-response}.test.ts',
    ],
  },
  'server/domain': {
    code: 'packages/server/src/domain',
    tests: ['packages/server/src/domain/*.test.ts'],
  },
};

/** Stryker's own record of a folder. It reuses what a change can't have changed. */
const reportOf = (folder: string) => join(CACHE, `${folder.replace('/', '-')}.json`);

function mutate(folder: string, file: string | undefined): void {
  const { code, tests } = FOLDERS[folder] ?? { code: '', tests: [] };
  const name = folder.replace('/', '-');
  const config = {
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'packages/tools/src/mutants.config.ts', related: false },
    mutate: [`${code}/${file ?? '*'}.ts`, '!**/*.test.ts', '!**/*.test-d.ts'],
    // Most strings are messages, and a value of a type such as 'sent' | 'unknown' can't change without the compiler's notice.
    mutator: { excludedMutations: ['StringLiteral'] },
    coverageAnalysis: 'perTest',
    concurrency: 1,
    // A mutant that makes a loop endless ends after this time.
    timeoutMS: 15_000,
    dryRunTimeoutMinutes: 30,
    incremental: true,
    incrementalFile: reportOf(folder),
    tempDirName: `tmp/mutants-${name}`,
    ignorePatterns: ['packages/{docs,bench,e2e}', 'examples', 'packages/*/dist', 'tmp'],
    reporters: ['clear-text', 'progress-append-only'],
    clearTextReporter: { logTests: false, reportTests: false, reportMutants: false },
    warnings: false,
    allowEmpty: true,
  };
  const path = join(CACHE, `${name}.config.json`);
  writeFileSync(path, JSON.stringify(config));
  const stryker = join(TOOL, 'node_modules/@stryker-mutator/core/bin/stryker.js');
  const tested = { ...env, MUTANTS_TESTS: tests.join(' ') };
  run(execPath, [stryker, 'run', path], ROOT, tested);
}

function install(): void {
  if (existsSync(join(TOOL, 'node_modules/@stryker-mutator/core'))) return;
  mkdirSync(TOOL, { recursive: true });
  writeFileSync(join(TOOL, 'package.json'), '{"private":true}');
  const names = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${STRYKER}`);
  // Its peer, vitest, is the one of the workspace, which Node finds above this folder.
  run('npm', ['install', '--legacy-peer-deps', '--no-audit', '--no-fund', ...names], TOOL, env);
}

function run(file: string, args: string[], cwd: string, variables: NodeJS.ProcessEnv): void {
  const { status, error } = spawnSync(file, args, { cwd, env: variables, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${file} ${args[0]} ended with ${status}`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false } },
});
const asked = positionals.length > 0 ? positionals : Object.keys(FOLDERS);
const targets = asked.map((target) => {
  const folder = Object.keys(FOLDERS).find((name) => `${target}/`.startsWith(`${name}/`));
  if (folder === undefined) {
    throw new Error(`${target} is not in one of ${Object.keys(FOLDERS).join(', ')}`);
  }
  return { folder, file: target.slice(folder.length + 1) || undefined };
});
if (!values.write) {
  install();
  for (const { folder, file } of targets) mutate(folder, file);
}
const before: Folders = existsSync(RECORD) ? JSON.parse(readFileSync(RECORD, 'utf8')) : {};
const after: Folders = {};
for (const folder of Object.keys(FOLDERS)) {
  const result = resultOf(reportOf(folder), before[folder]);
  if (result !== undefined) after[folder] = result;
}
if (values.write) {
  writeFileSync(RECORD, `${JSON.stringify(after, undefined, 2)}\n`);
  writeFileSync(PAGE, pageOf(after));
}
for (const [folder, result] of Object.entries(after)) {
  const score = scoreOf(result);
  const open = result.survivors.filter(({ why }) => why === '').length;
  console.log(`${folder}: ${score.toFixed(1)}%, ${open} survivors without a reason`);
  if (score < LEAST_SCORE) process.exitCode = 1;
}
