import { stripVTControlCharacters } from 'node:util';

/**
 * Controls (C0, DEL, C1), line and paragraph separators, and the marks that turn the direction of text: each could
 * move the cursor, forge a line or reorder what a terminal shows.
 */
const UNSAFE = '\\p{Cc}\\u2028\\u2029\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069';
const UNSAFE_RUN = new RegExp(`[${UNSAFE}]+`, 'gu');
/** What is written may end between CR and LF. */
const UNSAFE_IN_DATA = new RegExp(`(?!\\r?(?:\\n|$)|\\t)[${UNSAFE}]`, 'gu');
const UNSAFE_IN_JSON = new RegExp(`(?!\\n)[${UNSAFE}]`, 'gu');

/**
 * Text from a server or a file, made safe to print inside one line of a terminal: escape sequences are removed whole,
 * every other run of control characters becomes one space.
 */
export function sanitize(text: string): string {
  return stripVTControlCharacters(text).replace(UNSAFE_RUN, ' ').trim();
}

/** Characters of somebody else's text that a message shows. */
const MAX_FOREIGN_LENGTH = 300;

/** The same with a bounded length, for what a server says inside a message of ours. */
export function foreign(text: string): string {
  const safe = sanitize(text);
  return safe.length > MAX_FOREIGN_LENGTH ? `${safe.slice(0, MAX_FOREIGN_LENGTH)}…` : safe;
}

/** The same, for text of several lines that we composed ourselves: line breaks are kept. */
export function sanitizeLines(text: string): string {
  const lines = text.split('\n').map(stripVTControlCharacters);
  return lines.map((line) => line.replace(UNSAFE_RUN, ' ').trimEnd()).join('\n');
}

/** The same, for the lines of a table that somebody reads on a terminal: tabs and every space are kept. */
export function sanitizeData(text: string): string {
  return stripVTControlCharacters(text).replace(UNSAFE_IN_DATA, ' ');
}

/**
 * JSON that is the same value and safe on a terminal: `JSON.stringify` escapes C0 only, so the rest is escaped here.
 */
export function toSafeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    UNSAFE_IN_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
