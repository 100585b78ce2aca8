import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** The tool as a process of its own, with Node running its TypeScript as it is. */
export interface RealProcess {
  child: ChildProcessByStdio<Writable, Readable, Readable>;
  stdout: () => string;
  stderr: () => string;
  /** Resolves when it printed this. */
  printed: (text: string | RegExp) => Promise<void>;
  ended: Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>;
}

export interface RealOptions {
  env?: Record<string, string> | undefined;
  cwd?: string | undefined;
  nodeArgs?: readonly string[] | undefined;
}

export function startReal(argv: readonly string[], options: RealOptions = {}): RealProcess {
  return start(process.execPath, [...(options.nodeArgs ?? []), MAIN, ...argv], options);
}

/** The same in a pseudo-terminal: what is written to its stdin is typed, Ctrl-C (`\u0003`) included. */
export function startInTerminal(argv: readonly string[], options: RealOptions = {}): RealProcess {
  const words = [process.execPath, MAIN, ...argv].map((word) => `'${word}'`);
  const command = `stty cols 100 rows 30; exec ${words.join(' ')}`;
  const env = { TERM: 'xterm-256color', SHELL: '/bin/sh', ...options.env };
  return start('script', ['-qefc', command, '/dev/null'], { ...options, env });
}

function start(file: string, args: readonly string[], options: RealOptions): RealProcess {
  const child = spawn(file, args, {
    cwd: options.cwd,
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      HOME: '/nonexistent',
      ...options.env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => {});
  const out = { stdout: '', stderr: '' };
  const watchers = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk) => {
      out[name] += String(chunk);
      for (const watcher of watchers) watcher();
    });
  }
  const ended = new Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.on('close', (exitCode, signal) => resolve({ exitCode, signal })),
  );
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return {
    child,
    stdout: () => out.stdout,
    stderr: () => out.stderr,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const all = out.stdout + out.stderr;
          if (typeof text === 'string' ? all.includes(text) : text.test(all)) {
            watchers.delete(look);
            resolve();
          }
        };
        watchers.add(look);
        ended.then(() => reject(new Error(`ended without printing ${text}:\n${out.stderr}`)));
        look();
      }),
    ended,
  };
}
