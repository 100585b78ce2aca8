import { aliasAddress, canonicalPath } from '../../domain/aliases.ts';
import { hostOfUrl, normalizeHost } from '../../domain/hostnames.ts';
import { CODE } from '../../domain/ids.ts';
import type { Work } from '../command.ts';

/** A path that a URL parser leaves as it is, and that has one spelling only. Nearly all are like that. */
const PLAIN_PATH = /^\/[\w-]{1,99}$/;

/**
 * Reads an address as people and exports write it: a URL, perhaps without its scheme, or a path behind a slash. Its `authority` is as it was
 * written, `''` for a path alone; its `path` as `canonicalPath` writes it, undefined for one that no link can have.
 */
export function readAddress(address: string) {
  const [, authority = '', rest = ''] = /^(?:https?:\/\/)?([^/?#]*)(.*)$/is.exec(address) ?? [];
  if (PLAIN_PATH.test(rest)) return { authority, path: rest, hasQuery: false };
  const path = canonicalPath(URL.parse(`http://host${rest}`)?.pathname ?? '');
  return { authority, path, hasQuery: /[?#]/.test(rest) };
}

/** The code of the link that a person means: by its code, its short URL, or any address that it had before. `undefined` where there is none. */
export async function findCode(
  { store, publicUrl }: Pick<Work, 'store' | 'publicUrl'>,
  named: string,
): Promise<string | undefined> {
  const { authority, path = '' } = readAddress(named.includes('/') ? named : `/${named}`);
  const host = normalizeHost(authority) ?? authority;
  const isDefault = host === '' || host === hostOfUrl(publicUrl);
  const code = path.slice(1);
  const link = CODE.test(code) ? await store.findRedirect(code) : undefined;
  // The host of the public URL may be a custom domain, too.
  const hostnames = isDefault ? [null, host] : [host];
  if (link !== undefined && (host === '' || hostnames.includes(link.hostname))) return code;
  for (const hostname of hostnames) {
    const found = await store.findRedirect(aliasAddress(hostname, path) ?? '');
    if (found !== undefined) return found.code;
  }
  return undefined;
}
