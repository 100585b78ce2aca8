/** Between tags inside a cell, where neither `--tag-separator` nor a preset says otherwise. */
const USUAL_SEPARATORS = /[,;|]/;

/**
 * The tags of a cell: trimmed, without the empty ones. A JSON array of strings is taken as one, which is how arrays of
 * JSON Lines stand in a cell.
 */
export function splitTags(cell: string, separator: string | undefined): string[] {
  const text = cell.trim();
  if (text === '') return [];
  const parts = jsonStrings(text) ?? text.split(separator ?? USUAL_SEPARATORS);
  return parts.map((tag) => tag.trim()).filter((tag) => tag !== '');
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
