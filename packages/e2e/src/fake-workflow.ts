import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type ActionResult, runAction } from './fake-runner.ts';
import type { GitHost } from './git-host.ts';
import { cleanEnvironment } from './run-program.ts';

interface Step {
  id?: string;
  if?: string;
  uses?: string;
  with?: Record<string, unknown>;
}
interface Workflow {
  on: Record<string, { branches?: string[]; paths?: string[] } | null>;
  jobs: Record<string, { steps: Step[] }>;
}

/** What starts a workflow, and what its expressions find. */
export interface WorkflowRun {
  event: 'push' | 'pull_request';
  host: GitHost;
  /** The action that `example/shortlink@v0` stands for. */
  action: string;
  /** Such as `secrets.SHORTLINK_API_KEY`; what is not there is empty, as the secrets are for a fork. */
  values: Readonly<Record<string, string>>;
  env?: Readonly<Record<string, string>> | undefined;
}

export interface WorkflowResult extends ActionResult {
  /** The files of the artifact; undefined where there is none. */
  artifact: string[] | undefined;
}

/** Runs the only job of a GitHub workflow: a checkout, our action, and the upload of an artifact. */
export async function runWorkflow(text: string, run: WorkflowRun): Promise<WorkflowResult> {
  const { on, jobs }: Workflow = parse(text);
  if (!(run.event in on)) throw new Error(`the workflow does not start on ${run.event}`);
  const [job] = Object.values(jobs);
  const values: Record<string, string> = { 'github.ref_name': 'main', ...run.values };
  const expand = (value: unknown) =>
    String(value).replace(/\$\{\{ ([\w.-]+) \}\}/g, (_, name: string) => values[name] ?? '');
  let cwd = '';
  let artifact: string[] | undefined;
  let result: ActionResult | undefined;
  for (const { id, if: condition, uses = '', with: inputs = {} } of job?.steps ?? []) {
    const [name] = uses.split('@');
    const given = Object.fromEntries(
      Object.entries(inputs).map(([key, value]) => [key, expand(value)]),
    );
    // What follows a step that failed must be asked for.
    if (result?.exitCode && !condition?.includes('always()')) continue;
    if (name === 'actions/checkout') {
      cwd = await run.host.checkout(given['ref'] || 'main');
      // A pull request is checked out as the merge that it would be.
      if (given['ref'] === undefined) await run.host.git(cwd, 'checkout', '--quiet', '--detach');
    } else if (name === 'example/shortlink') {
      const env = { GITHUB_EVENT_NAME: run.event, ...run.host.env, ...run.env };
      result = await runAction(run.action, given, { cwd, env });
      for (const [key, value] of Object.entries(result.outputs)) {
        values[`steps.${id}.outputs.${key}`] = value;
      }
    } else if (name === 'actions/upload-artifact') {
      artifact = await readdir(given['path'] ?? '');
    } else throw new Error(`unexpected step: ${uses}`);
  }
  if (result === undefined) throw new Error('the workflow does not use the action');
  return { ...result, artifact };
}

interface GitLabJob {
  variables?: Record<string, string>;
  script: string[];
}

/** Runs a job of GitLab CI: in a detached checkout, with the variables that GitLab sets, and a remote that only a token may push to. */
export async function runGitLabJob(
  text: string,
  name: string,
  { host, env }: { host: GitHost; env: Readonly<Record<string, string>> },
): Promise<{ exitCode: number; log: string; cwd: string }> {
  const { [name]: job } = parse(text) as Record<string, GitLabJob>;
  const cwd = await host.checkout();
  await host.git(cwd, 'checkout', '--quiet', '--detach');
  const pushed = 'https://oauth2:token@gitlab.example/me/site.git';
  await host.git(cwd, 'config', `url.file://${host.folder}/origin.git.insteadOf`, pushed);
  const given: Record<string, string> = {
    CI_PROJECT_DIR: cwd,
    CI_COMMIT_BRANCH: 'main',
    CI_SERVER_HOST: 'gitlab.example',
    CI_PROJECT_PATH: 'me/site',
    LINKS_TOKEN: 'token',
    TMPDIR: await mkdtemp(join(host.folder, 'tmp-')),
  };
  const own = Object.entries(job?.variables ?? {}).map(([key, value]) => [
    key,
    value.replace(/\$(\w+)/g, (_, variable: string) => given[variable] ?? ''),
  ]);
  const script = (job?.script ?? []).join('\n');
  return {
    ...(await runShell(script, cwd, { ...given, ...Object.fromEntries(own), ...host.env, ...env })),
    cwd,
  };
}

/** Runs lines in a POSIX shell that stops at the first one that fails. */
export async function runShell(
  script: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<{ exitCode: number; log: string }> {
  const child = spawn('sh', ['-e', '-c', script], {
    cwd,
    env: { ...cleanEnvironment(), CI: 'true', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      log += chunk;
    });
  }
  const [exitCode] = await once(child, 'close');
  return { exitCode, log };
}
