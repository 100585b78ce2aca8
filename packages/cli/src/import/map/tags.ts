import { trimmed } from './text.ts';

const COMMA = 44;
const SEMICOLON = 59;
const BAR = 124;

/**
 * The tags of a cell: trimmed, without the empty ones, cut at `separator` or else at any of `,` `;` `|`. A JSON array of strings
 * is taken as one, which is how arrays of JSON Lines stand in a cell.
 */
export function splitTags(cell: string, separator: string | undefined): string[] {
  const text = trimmed(cell);
  if (text === '') return [];
  const strings = jsonStrings(text);
  if (strings !== undefined) return withoutEmpty(strings);
  return separator === undefined ? cut(text) : withoutEmpty(text.split(separator));
}

function withoutEmpty(parts: readonly string[]): string[] {
  return parts.map(trimmed).filter((tag) => tag !== '');
}

/** Cuts at the usual separators, character by character: a pattern or a search for each of them costs twice as much. */
function cut(text: string): string[] {
  const tags: string[] = [];
  let start = 0;
  for (let at = 0; at <= text.length; at += 1) {
    if (at < text.length && !isSeparator(text.charCodeAt(at))) continue;
    const tag = trimmed(text.slice(start, at));
    if (tag !== '') tags.push(tag);
    start = at + 1;
  }
  return tags;
}

function isSeparator(code: number): boolean {
  return code === BAR || code === COMMA || code === SEMICOLON;
}

function jsonStrings(text: string): string[] | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const isList = Array.isArray(value) && value.every((item) => typeof item === 'string');
    return isList ? value : undefined;
  } catch {
    return undefined;
  }
}
