import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { cleanEnvironment } from './run-program.ts';

/** The parts of an `action.yml` that are read here. */
interface Action {
  inputs: Record<string, { required?: boolean; default?: string }>;
  outputs: Record<string, { value: string }>;
  runs: {
    using: string;
    steps: {
      id?: string;
      uses?: string;
      run?: string;
      shell?: string;
      env?: Record<string, string>;
    }[];
  };
}

export interface ActionResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
  /** What the steps wrote for the page of the run. */
  summary: string;
  /** What the action gives to the steps after it. */
  outputs: Record<string, string>;
}

/** Runs the commands of a composite action in bash, with the environment and the files that a runner gives to them. */
export async function runAction(
  folder: string,
  inputs: Readonly<Record<string, string>>,
  options: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<ActionResult> {
  const action: Action = parse(await readFile(join(folder, 'action.yml'), 'utf8'));
  const unknown = Object.keys(inputs).filter((name) => !(name in action.inputs));
  if (unknown.length > 0) throw new Error(`action.yml has no input ${unknown}`);
  const values = Object.fromEntries(
    Object.entries(action.inputs).map(([name, { required, default: fallback = '' }]) => {
      if (required && inputs[name] === undefined) throw new Error(`the input ${name} is missing`);
      return [`inputs.${name}`, inputs[name] ?? fallback];
    }),
  );
  const temporary = await mkdtemp(join(tmpdir(), 'shortlink-runner-'));
  const files = {
    GITHUB_OUTPUT: join(temporary, 'output'),
    GITHUB_STEP_SUMMARY: join(temporary, 'summary'),
  };
  const result: ActionResult = { exitCode: 0, stdout: '', stderr: '', summary: '', outputs: {} };
  try {
    for (const step of action.runs.steps) {
      if (step.run === undefined || result.exitCode !== 0) continue;
      for (const file of Object.values(files)) await writeFile(file, '');
      const env = Object.entries(step.env ?? {}).map(([name, text]) => [
        name,
        expand(text, values),
      ]);
      const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step.run], {
        cwd: options.cwd,
        env: {
          ...cleanEnvironment(),
          ...options.env,
          ...files,
          ...Object.fromEntries(env),
          CI: 'true',
          GITHUB_ACTIONS: 'true',
          GITHUB_ACTION_PATH: folder,
          GITHUB_WORKSPACE: options.cwd,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        result.stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        result.stderr += text;
      });
      [result.exitCode] = await once(child, 'close');
      result.summary += await readFile(files.GITHUB_STEP_SUMMARY, 'utf8');
      for (const line of (await readFile(files.GITHUB_OUTPUT, 'utf8')).split('\n')) {
        const [, name, value = ''] = /^([\w-]+)=(.*)$/.exec(line) ?? [];
        if (name !== undefined) values[`steps.${step.id}.outputs.${name}`] = value;
      }
    }
    for (const [name, { value }] of Object.entries(action.outputs)) {
      result.outputs[name] = expand(value, values);
    }
    return result;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Replaces expressions such as `${{ inputs.file }}`. */
function expand(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{\{ (\S+) \}\}/g, (_, name: string) => values[name] ?? '');
}
