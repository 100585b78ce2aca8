import { stripVTControlCharacters } from 'node:util';
import { eastAsianWidth } from 'get-east-asian-width';

/** Marks on the character before them, and invisible characters. */
const NO_WIDTH = /\p{Mn}|\p{Me}|\p{Cf}/u;
const ASCII = /^[\x20-\x7e]*$/;

type Spacing = { readonly [Name in 'width' | 'gap' | 'indent']?: number | undefined };

/** Columns of a text on a terminal, its colours apart. */
export function textWidth(text: string): number {
  const plain = stripVTControlCharacters(text);
  if (ASCII.test(plain)) return plain.length;
  let width = 0;
  for (const character of plain) {
    if (!NO_WIDTH.test(character)) width += eastAsianWidth(character.codePointAt(0) ?? 0);
  }
  return width;
}

/** Puts parts, which are never broken, on as few lines as possible, or on one without a `width`. */
export function flow(parts: readonly string[], spacing: Spacing): string {
  const { width = Number.POSITIVE_INFINITY, gap = 1, indent = 0 } = spacing;
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

/** A command at the end of a line is copied whole. */
const COMMAND = /(?:^|(?<=[:.] ))\$? ?shortlink .*$/;

/** Breaks lines between words, so that no terminal breaks them inside words, paths and URLs. A continued line keeps its indentation. */
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
