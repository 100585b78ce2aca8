import { inputError } from './input-error.ts';

const BOMS: ReadonlyArray<{ bytes: readonly number[]; encoding: string }> = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: 'utf-8' },
  { bytes: [0xff, 0xfe], encoding: 'utf-16le' },
  { bytes: [0xfe, 0xff], encoding: 'utf-16be' },
];

/**
 * The encoding to read a file with, as the Encoding Standard names it. A byte order mark wins over a Unicode label
 * (the standard's rule for `decode`), so that `--encoding utf-16` reads both byte orders; any other label stands.
 */
export function chooseEncoding(firstBytes: Uint8Array, label: string | undefined): string {
  const wanted = label === undefined ? 'utf-8' : canonicalName(label);
  if (!wanted.startsWith('utf-')) return wanted;
  const bom = BOMS.find(({ bytes }) => bytes.every((byte, index) => firstBytes[index] === byte));
  return bom?.encoding ?? wanted;
}

function canonicalName(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    throw inputError(
      `unknown encoding ${JSON.stringify(label)}`,
      'Use a label of the Encoding Standard, such as utf-8, utf-16le, windows-1252 or shift_jis.',
    );
  }
}
