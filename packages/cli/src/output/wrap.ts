import { stripVTControlCharacters } from 'node:util';
import { eastAsianWidth } from 'get-east-asian-width';

/** Marks that stand on the character before them, and characters that are not shown. */
const NO_WIDTH = /\p{Mn}|\p{Me}|\p{Cf}/u;
const ASCII = /^[\x20-\x7e]*$/;

/** Columns that a text takes on a terminal, its colours apart. */
export function textWidth(text: string): number {
  const plain = stripVTControlCharacters(text);
  if (ASCII.test(plain)) return plain.length;
  let width = 0;
  for (const character of plain) {
    if (!NO_WIDTH.test(character)) width += eastAsianWidth(character.codePointAt(0) ?? 0);
  }
  return width;
}

/**
 * Puts parts on as few lines as possible: `gap` spaces between two of them, and a new line with `indent` spaces where the next one
 * does not fit. A part is never broken. Without a `width` there is no terminal, and all of them are on one line.
 */
export function flow(
  parts: readonly string[],
  {
    width = Number.POSITIVE_INFINITY,
    gap = 1,
    indent = 0,
  }: { width?: number | undefined; gap?: number; indent?: number },
): string {
  const [first = '', ...rest] = parts;
  let text = first;
  let used = textWidth(first);
  for (const part of rest) {
    const partWidth = textWidth(part);
    const fits = used + gap + partWidth <= width;
    text += (fits ? ' '.repeat(gap) : `\n${' '.repeat(indent)}`) + part;
    used = fits ? used + gap + partWidth : indent + partWidth;
  }
  return text;
}

/** A command at the end of a line, which is to be copied whole. */
const COMMAND = /(?:^|(?<=[:.] ))\$? ?shortlink .*$/;

/**
 * Breaks lines between words, so that a terminal of `width` columns does not break them inside words, paths and URLs. A line that is
 * continued keeps its indentation. A command (`… with: shortlink usage`) is not broken.
 */
export function wrapWords(text: string, width: number | undefined): string {
  if (width === undefined || width < 1) return text;
  return text
    .split('\n')
    .map((line) => {
      const indent = /^ */.exec(line)?.[0].length ?? 0;
      const content = line.slice(indent);
      const command = COMMAND.exec(content)?.[0];
      const words = content.slice(0, content.length - (command?.length ?? 0)).split(' ');
      if (command !== undefined) words.splice(-1, 1, command);
      const [first = '', ...rest] = words;
      return flow([' '.repeat(indent) + first, ...rest], { width, indent });
    })
    .join('\n');
}
