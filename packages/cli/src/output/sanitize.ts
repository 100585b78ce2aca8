import { stripVTControlCharacters } from 'node:util';

/** Controls (C0, DEL, C1), line and paragraph separators, and marks that turn the direction of text could move the cursor or forge a line. */
const UNSAFE = '\\p{Cc}\\u2028\\u2029\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069';
const UNSAFE_RUN = new RegExp(`[${UNSAFE}]+`, 'gu');
/** What is written may end between CR and LF. */
const UNSAFE_IN_DATA = new RegExp(`(?!\\r?(?:\\n|$)|\\t)[${UNSAFE}]`, 'gu');
const UNSAFE_IN_JSON = new RegExp(`(?!\\n)[${UNSAFE}]`, 'gu');

/** Text made safe to print inside one line of a terminal: escape sequences are removed, other runs of controls become one space. */
export function sanitize(text: string): string {
  return stripVTControlCharacters(text).replace(UNSAFE_RUN, ' ').trim();
}

const MAX_FOREIGN_LENGTH = 300;

/** The same with a bounded length. */
export function foreign(text: string): string {
  const safe = sanitize(text);
  return safe.length > MAX_FOREIGN_LENGTH ? `${safe.slice(0, MAX_FOREIGN_LENGTH)}…` : safe;
}

/** The same for several lines that we composed ourselves. */
export function sanitizeLines(text: string): string {
  const lines = text.split('\n').map(stripVTControlCharacters);
  return lines.map((line) => line.replace(UNSAFE_RUN, ' ').trimEnd()).join('\n');
}

/** The same for a table on a terminal: tabs and every space are kept. */
export function sanitizeData(text: string): string {
  return stripVTControlCharacters(text).replace(UNSAFE_IN_DATA, ' ');
}

/** JSON that is safe on a terminal: `JSON.stringify` escapes C0 only. */
export function toSafeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    UNSAFE_IN_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
