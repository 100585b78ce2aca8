/** Values of options that say how a table is written, each with what it has to be. A reader returns undefined for anything else. */
export const DELIMITER = {
  expected: 'one character, or the word tab',
  read(text: string): string | undefined {
    if (text === 'tab' || text === '\\t') return '\t';
    return text.length === 1 && !/["\r\n]/.test(text) ? text : undefined;
  },
};

export const ENCODING = {
  expected: 'a name of the Encoding Standard, such as utf-8, utf-16le, windows-1252 or shift_jis',
  read(text: string): string | undefined {
    try {
      return new TextDecoder(text).encoding;
    } catch {
      return undefined;
    }
  },
};
