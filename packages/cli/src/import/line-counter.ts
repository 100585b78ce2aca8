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
