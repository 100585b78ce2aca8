/** Longest path of an alias, in characters once it is percent-encoded. PostgreSQL's indexes take little more than twice as much. */
export const MAX_ALIAS_PATH = 1_000;

/** Paths that the service itself responds to, and those below them. */
const RESERVED =
  /^\/(?:$|(?:api|analytics|openapi\.json|healthz|readyz|metrics|internal\/tls-check)(?:\/|$))/;

export const isReservedPath = (path: string) => RESERVED.test(path);

/** One spelling for paths that RFC 3986 (section 6.2.2) and browsers take for the same, as `/😀` and `/%f0%9f%98%80`. `undefined` for one that no alias can have. */
export function canonicalPath(path: string): string | undefined {
  if (path.length > MAX_ALIAS_PATH || !path.isWellFormed()) return undefined;
  const canonical = path
    .replace(/%(?![0-9a-f]{2})/gi, '%25')
    .replace(/[^\w\-.~!$&'()*+,;=:@/%]+/g, encodeURIComponent)
    .replace(/%[0-9a-f]{2}/gi, (escaped) => {
      const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
      return /[\w\-.~]/.test(character) ? character : escaped.toUpperCase();
    });
  return canonical.length > MAX_ALIAS_PATH ? undefined : canonical;
}

/** The address that an alias is looked up by: path and, in front, the host of its custom domain; nothing for the default domain. A code has no slash. */
export function aliasAddress(hostname: string | null, path: string): string | undefined {
  const canonical = canonicalPath(path);
  if (canonical === undefined || isReservedPath(canonical)) return undefined;
  return `${hostname ?? ''}${canonical}`;
}
