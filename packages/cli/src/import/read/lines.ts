import { inputError } from '../errors.ts';

/** The longest row, in characters. Without it a quote that never closes would read the rest of the file into memory. */
export const MAX_ROW_LENGTH = 16 * 1024 * 1024;

export interface Line {
  /** From 1. */
  line: number;
  text: string;
}

/** Cuts text that comes in pieces into lines: LF, CRLF or CR. Blank lines are skipped and counted. */
export class LineSplitter {
  readonly #name: string;
  #rest = '';
  #line: number;

  /**
   * @param name name of the file in messages
   * @param firstLine number of the first line that will be pushed
   */
  constructor(name: string, firstLine = 1) {
    this.#name = name;
    this.#line = firstLine;
  }

  push(text: string): Line[] {
    const whole = this.#rest + text;
    // A CR that ends the piece may be half of a CRLF, so it waits for the next one.
    const held = whole.endsWith('\r') ? 1 : 0;
    const parts = whole.slice(0, whole.length - held).split(/\r\n|\r|\n/);
    this.#rest = (parts.pop() ?? '') + (held === 1 ? '\r' : '');
    if (this.#rest.length > MAX_ROW_LENGTH) {
      const mib = MAX_ROW_LENGTH / 1024 / 1024;
      throw inputError(`${this.#name}, line ${this.#line + parts.length}: longer than ${mib} MiB`);
    }
    return this.#number(parts);
  }

  end(): Line[] {
    const parts = this.#rest.split('\r');
    this.#rest = '';
    return this.#number(parts);
  }

  #number(parts: readonly string[]): Line[] {
    const lines: Line[] = [];
    for (const text of parts) {
      if (text.trim() !== '') lines.push({ line: this.#line, text });
      this.#line += 1;
    }
    return lines;
  }
}

const LINE_BREAK = /\r\n|\r|\n/g;

/** Counts lines in text that comes in pieces. A line ends with LF, CRLF or CR; a CRLF may be cut in two. */
export class LineCounter {
  /** The line, from 1, that the text after everything added so far is on. */
  line = 1;
  #endedWithCr = false;

  add(text: string): void {
    if (text === '') return;
    this.line += countLineBreaks(text);
    if (this.#endedWithCr && text.startsWith('\n')) this.line -= 1;
    this.#endedWithCr = text.endsWith('\r');
  }
}

/** Line breaks inside one piece of text. */
export function countLineBreaks(text: string): number {
  return text.match(LINE_BREAK)?.length ?? 0;
}
