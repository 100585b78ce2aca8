import { stripVTControlCharacters } from 'node:util';
import { type IPty, spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import { CLI_PROGRAM, commandOf } from './programs.ts';
import { cleanEnvironment } from './run-program.ts';

/** Longest time that a test waits for something to appear, or for the program to end. */
const LIMIT_MS = 100_000;

/** Height of the terminals. */
const ROWS = 40;

export const CTRL_C = '\x03';

/** A program in a pseudo-terminal, as a person uses it. */
export class Terminal {
  readonly exitCode: Promise<number>;
  readonly #pty: IPty;
  readonly #emulator: InstanceType<typeof xterm.Terminal>;
  #output = '';
  #onOutput: () => void = () => {};

  /** @param columns - width of the terminal */
  constructor(
    file: string,
    args: readonly string[],
    cwd: string,
    env: Record<string, string>,
    columns = 120,
  ) {
    const inherited = cleanEnvironment();
    delete inherited['CI'];
    delete inherited['NO_COLOR'];
    this.#pty = spawn(file, [...args], {
      cols: columns,
      rows: ROWS,
      name: 'xterm-256color',
      cwd,
      env: { ...inherited, TERM: 'xterm-256color', ...env },
    });
    this.#emulator = new xterm.Terminal({ cols: columns, rows: ROWS, allowProposedApi: true });
    this.#pty.onData((text) => {
      this.#output += text;
      this.#emulator.write(text);
      this.#onOutput();
    });
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

  type(keys: string): void {
    this.#pty.write(keys);
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
