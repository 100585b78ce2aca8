import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { cleanEnvironment } from './run-program.ts';

/** The parts of an `action.yml` that are read here. */
interface Action {
  inputs: Record<string, { required?: boolean; default?: string }>;
  outputs: Record<string, { description: string }>;
  runs: { using: string; main: string };
}

export interface ActionResult {
  exitCode: number | null;
  /** Both streams, as the runner shows them. */
  log: string;
  /** What the action wrote for the page of the run. */
  summary: string;
  /** What it gives to the steps after it. */
  outputs: Record<string, string>;
}

export interface RunnerOptions {
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Called with the running process. */
  onStart?: ((child: ReturnType<typeof spawn>) => void) | undefined;
}

/** Runs a JavaScript action as a runner does: with its own Node, the inputs as variables, and files for what the action says. */
export async function runAction(
  folder: string,
  inputs: Readonly<Record<string, string>>,
  { cwd, env, onStart }: RunnerOptions,
): Promise<ActionResult> {
  const action: Action = parse(await readFile(join(folder, 'action.yml'), 'utf8'));
  const unknown = Object.keys(inputs).filter((name) => !(name in action.inputs));
  if (unknown.length > 0) throw new Error(`action.yml has no input ${unknown}`);
  const values = Object.entries(action.inputs).map(([name, { required, default: usual = '' }]) => {
    if (required && inputs[name] === undefined) throw new Error(`the input ${name} is missing`);
    return [`INPUT_${name.toUpperCase()}`, inputs[name] ?? usual.replace(/\$\{\{.*\}\}/, '')];
  });
  const temporary = await mkdtemp(join(env['HOME'] ?? tmpdir(), 'runner-'));
  const files = {
    GITHUB_OUTPUT: join(temporary, 'output'),
    GITHUB_STEP_SUMMARY: join(temporary, 'summary'),
  };
  for (const file of Object.values(files)) await writeFile(file, '');
  const child = spawn(process.execPath, [join(folder, action.runs.main)], {
    cwd,
    env: {
      ...cleanEnvironment(),
      CI: 'true',
      GITHUB_ACTIONS: 'true',
      GITHUB_EVENT_NAME: 'push',
      GITHUB_WORKSPACE: cwd,
      RUNNER_TEMP: temporary,
      ...env,
      ...files,
      ...Object.fromEntries(values),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  }
  onStart?.(child);
  const [exitCode] = await once(child, 'close');
  const outputs: Record<string, string> = {};
  for (const line of (await readFile(files.GITHUB_OUTPUT, 'utf8')).split('\n')) {
    const [, name, value = ''] = /^([\w-]+)=(.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    if (!(name in action.outputs)) throw new Error(`action.yml has no output ${name}`);
    outputs[name] = value;
  }
  return { exitCode, log, summary: await readFile(files.GITHUB_STEP_SUMMARY, 'utf8'), outputs };
}
