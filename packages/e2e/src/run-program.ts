import { spawn } from 'node:child_process';
import { commandOf } from './programs.ts';

/** How a program ended and what it printed. */
export interface ProgramResult {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  cwd?: string | undefined;
  env?: Record<string, string | undefined> | undefined;
  /** Written to standard input, which is then closed. */
  input?: string | undefined;
  /** Called with the running process, to kill it in the middle. */
  onStart?: ((child: ReturnType<typeof spawn>) => void) | undefined;
}

/** Runs a program to its end. Never rejects for an exit code: tests assert it. */
export function runProgram(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const [file, ...words] = commandOf(program);
    const child = spawn(file, [...words, ...args], {
      cwd: options.cwd,
      env: { ...cleanEnvironment(), ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.on('error', reject);
    child.on('close', (exitCode, signal) =>
      resolve({
        exitCode,
        signal,
        stdout: Buffer.concat(stdout).toString('utf8'),
        stderr: Buffer.concat(stderr).toString('utf8'),
      }),
    );
    options.onStart?.(child);
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}

/** The environment without anything that would configure our programs or reach the developer's own settings. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) =>
        !/^(SHORTLINK_|XDG_|NODE_OPTIONS|VITEST|FORCE_COLOR|HTTPS?_PROXY|NO_PROXY)/i.test(name),
    ),
  );
}
