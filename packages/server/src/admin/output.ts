/** What a terminal obeys instead of showing it: controls, line separators, and what changes the direction of text (Unicode Technical Report 36). */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** Texts come from databases, requests and command lines. In a terminal, unsafe characters show as `\u` and their number. */
export function terminalSafe(text: string): string {
  const escaped = (unsafe: string) => unsafe.charCodeAt(0).toString(16).padStart(4, '0');
  return text.replace(UNSAFE, (unsafe) => `\\u${escaped(unsafe)}`);
}

export const terminalSafeLines = (text: string) => text.split('\n').map(terminalSafe).join('\n');

/** JSON may hold any character as an escape, so the data stays the same. */
export const safeJson = (value: object) => terminalSafe(JSON.stringify(value));

/** The value of a text that may be JSON; `undefined` where it is none. */
export function parsedJson(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
