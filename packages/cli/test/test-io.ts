import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { Interrupt, Io, OutputStream } from '../src/io.ts';
import { run } from '../src/run.ts';

export interface CliOptions {
  env?: Record<string, string> | undefined;
  /** What is piped in; nothing by default. */
  input?: string | undefined;
  /** Streams that look like a terminal. */
  tty?: { stdin?: boolean; stdout?: boolean; stderr?: boolean } | undefined;
  home?: string | undefined;
  /** Gets the terminal's other end: to type, and to press Ctrl-C. */
  onStart?: ((terminal: Terminal) => void) | undefined;
}

export interface Terminal {
  type(text: string): void;
  /** @param cause - @default signal */
  interrupt(cause?: 'signal' | 'closed'): void;
  /** How many listen for Ctrl-C. */
  listening(): number;
  stderr(): string;
}

export interface CliResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** The twin of the process: what is typed, and what was printed. */
export interface TestIo {
  io: Io;
  terminal: Terminal;
  stdout: () => string;
  stderr: () => string;
}

export function testIo(options: CliOptions = {}): TestIo {
  const stdout = collector(options.tty?.stdout);
  const stderr = collector(options.tty?.stderr);
  const stdin = Object.assign(new PassThrough(), {
    isTTY: options.tty?.stdin === true,
    setRawMode: () => {},
  });
  if (!stdin.isTTY) {
    stdin.end(options.input ?? '');
  }
  const listeners = new Set<Interrupt>();
  const io: Io = {
    stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: options.env ?? {},
    platform: 'linux',
    home: options.home ?? '/nonexistent',
    onInterrupt(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const terminal: Terminal = {
    type: (text) => stdin.write(text),
    interrupt: (cause = 'signal') => {
      for (const listener of [...listeners]) listener(cause);
    },
    listening: () => listeners.size,
    stderr: stderr.text,
  };
  return { io, terminal, stdout: stdout.text, stderr: stderr.text };
}

/** Runs the tool in this process, as main.ts does with the real one. */
export async function cli(argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const { io, terminal, stdout, stderr } = testIo(options);
  const running = run(argv, io);
  options.onStart?.(terminal);
  const exitCode = await running;
  // A listener that is left keeps Ctrl-C from ending the process.
  if (terminal.listening() > 0)
    throw new Error('The command has ended, and still listens for Ctrl-C');
  // Nor does the process end then.
  if (io.stdin.isTTY === true && io.stdin.readableFlowing === true)
    throw new Error('The command has ended, and still reads what is typed');
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

function collector(isTTY = false): { stream: OutputStream; text: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  const terminal = {
    isTTY,
    columns: 100,
    // What ora calls on a terminal.
    clearLine: () => true,
    cursorTo: () => true,
    moveCursor: () => true,
  };
  return { stream: Object.assign(stream, isTTY ? terminal : {}), text: () => text };
}

/** A folder that goes with the test. */
export async function testFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-cli-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
