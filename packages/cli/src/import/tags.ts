import { trimmed } from './trimmed.ts';

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

/** Cuts at the usual separators. A cell rarely mixes them, and a pattern costs twice as much as a character. */
function cut(text: string): string[] {
  const bar = text.includes('|');
  const comma = text.includes(',');
  const semicolon = text.includes(';');
  if (bar && !comma && !semicolon) return text.split('|');
  if (comma && !bar && !semicolon) return text.split(',');
  if (semicolon && !bar && !comma) return text.split(';');
  return bar || comma || semicolon ? text.split(/[,;|]/) : [text];
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
