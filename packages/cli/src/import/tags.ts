import { trimmed } from './trimmed.ts';

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
  const parts = jsonStrings(text) ?? (separator === undefined ? cut(text) : text.split(separator));
  const tags = parts.map(trimmed);
  return tags.includes('') ? tags.filter((tag) => tag !== '') : tags;
}

/** Cuts at the usual separators. By hand, since `split` with a pattern takes longer than reading and checking the row. */
function cut(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code !== COMMA && code !== SEMICOLON && code !== BAR) continue;
    parts.push(text.slice(start, index));
    start = index + 1;
  }
  parts.push(text.slice(start));
  return parts;
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
