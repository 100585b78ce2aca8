import { clearLine, cursorTo, type Direction, moveCursor } from 'node:readline';
import { PassThrough, Writable, type WritableOptions } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { type IPty, spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import type { Interrupt } from '../../cli/src/io.ts';
import { run } from '../../cli/src/run.ts';
import { CLI_PROGRAM, commandOf } from './programs.ts';
import { cleanEnvironment } from './run-program.ts';

/** Longest time that a test waits for something to appear, or for the program to end. */
const LIMIT_MS = 100_000;

/** Height of the terminals. */
const ROWS = 40;

export const CTRL_C = '\x03';

/** What a program writes to a terminal, and what a person sees of it. */
class Screen {
  readonly #emulator: InstanceType<typeof xterm.Terminal>;
  #output = '';
  #onOutput: () => void = () => {};

  /** @param columns - width of the terminal */
  constructor(columns: number) {
    this.#emulator = new xterm.Terminal({ cols: columns, rows: ROWS, allowProposedApi: true });
  }

  protected show(text: string): void {
    this.#output += text;
    this.#emulator.write(text);
    this.#onOutput();
  }

  /** Everything that was written, with its escape sequences. */
  get raw(): string {
    return this.#output;
  }

  /** What was written, without escape sequences. */
  get text(): string {
    return stripVTControlCharacters(this.#output);
  }

  /** What a person sees now: the lines that the terminal shows, those that were scrolled out included. */
  async screen(): Promise<string> {
    await new Promise<void>((resolve) => this.#emulator.write('', resolve));
    const { active } = this.#emulator.buffer;
    const lines = Array.from({ length: active.length }, (_, line) =>
      active.getLine(line)?.translateToString(true),
    );
    return lines.join('\n').trimEnd();
  }

  /** Waits until the text after the position `from` matches, and resolves to the match. */
  async until(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        this.#onOutput = () => {
          const found = pattern.exec(this.text.slice(from));
          if (found !== null) resolve(found);
        };
        timer = setTimeout(
          () => reject(new Error(`no ${pattern} in:\n${this.text.slice(-2_000)}`)),
          LIMIT_MS,
        );
        this.#onOutput();
      });
    } finally {
      clearTimeout(timer);
      this.#onOutput = () => {};
    }
  }
}

/** A program in a pseudo-terminal, as a person uses it. */
export class Terminal extends Screen {
  readonly exitCode: Promise<number>;
  readonly #pty: IPty;

  /** @param columns - width of the terminal */
  constructor(
    file: string,
    args: readonly string[],
    cwd: string,
    env: Record<string, string>,
    columns = 120,
  ) {
    super(columns);
    this.#pty = spawn(file, [...args], {
      cols: columns,
      rows: ROWS,
      name: 'xterm-256color',
      cwd,
      env: { ...terminalEnvironment(), ...env },
    });
    this.#pty.onData((text) => this.show(text));
    this.exitCode = new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pty.kill('SIGKILL');
        reject(new Error(`still running:\n${this.text}`));
      }, LIMIT_MS);
      this.#pty.onExit(({ exitCode, signal }) => {
        clearTimeout(timer);
        resolve(signal ? 128 + signal : exitCode);
      });
    });
    // A test that waits for output instead fails with its own error.
    this.exitCode.catch(() => {});
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }
}

/** `shortlink` in this process, on streams that are as those of a terminal: what it shows there takes no process of its own. */
export class OwnTerminal extends Screen {
  readonly exitCode: Promise<number>;
  readonly #stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  readonly #listeners = new Set<Interrupt>();

  /** @param columns - width of the terminal */
  constructor(args: readonly string[], env: Record<string, string>, columns: number) {
    super(columns);
    const write: WritableOptions['write'] = (chunk, _encoding, done) => {
      // As the driver of a terminal does.
      this.show(String(chunk).replaceAll('\n', '\r\n'));
      done();
    };
    const output = () => {
      const stream = new Writable({ write });
      return Object.assign(stream, {
        isTTY: true,
        columns,
        clearLine: (side: Direction) => clearLine(stream, side),
        cursorTo: (column: number) => cursorTo(stream, column),
        moveCursor: (right: number, down: number) => moveCursor(stream, right, down),
      });
    };
    this.exitCode = run(args, {
      stdin: this.#stdin,
      stdout: output(),
      stderr: output(),
      env: { ...terminalEnvironment(), ...env },
      platform: process.platform,
      home: env['HOME'] ?? '/nonexistent',
      onInterrupt: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    });
  }

  type(keys: string): void {
    if (keys !== CTRL_C) this.#stdin.write(keys);
    else for (const listener of [...this.#listeners]) listener('signal');
  }
}

function terminalEnvironment(): NodeJS.ProcessEnv {
  const { CI: _, NO_COLOR: __, ...inherited } = cleanEnvironment();
  return { ...inherited, TERM: 'xterm-256color' };
}

/** `shortlink` in a pseudo-terminal. */
export function cliTerminal(
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
  columns?: number,
): Terminal {
  const [file, ...words] = commandOf(CLI_PROGRAM);
  return new Terminal(file, [...words, ...args], cwd, env, columns);
}
