/** Letters, digits and `._-`; also safe as a part of a file name or an environment variable's value. */
export const PROFILE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Printable ASCII without spaces: anything else can't be sent in a header, and `fetch` would print the key in its error. */
export const API_KEY_PATTERN = /^[\x21-\x7e]+$/;

/** The profile used where none was ever named. */
export const DEFAULT_PROFILE = 'default';

export function isBaseUrl(value: string): boolean {
  if (!URL.canParse(value)) {
    return false;
  }
  const url = new URL(value);
  return (
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === ''
  );
}

/** Enough of a key to tell two apart, too little to use: the last four characters, of long keys only. */
export function maskKey(key: string): string {
  return key.length >= 16 ? `****${key.slice(-4)}` : '****';
}
