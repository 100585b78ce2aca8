/** Version of this package; a test compares it with package.json. */
export const VERSION = '0.1.0';

/** What a runtime may have in its global scope that tells what it is. */
interface Scope {
  document?: unknown;
  navigator?: { userAgent?: string };
  Deno?: { version?: { deno?: string } };
  process?: { versions?: { bun?: string; node?: string } };
}

/**
 * Value of `User-Agent`, such as `shortlink-sdk/0.1.0 node/24.1.0`. Undefined in browsers: there the header belongs to
 * the browser, and setting it makes a request to another origin fail.
 */
export function userAgent(scope: Scope = globalThis): string | undefined {
  const { bun, node } = scope.process?.versions ?? {};
  const client = `shortlink-sdk/${VERSION}`;
  if (scope.document !== undefined) return undefined;
  if (scope.Deno !== undefined) return `${client} deno/${scope.Deno.version?.deno}`;
  if (bun !== undefined) return `${client} bun/${bun}`;
  if (scope.navigator?.userAgent === 'Cloudflare-Workers') return `${client} workerd`;
  return node === undefined ? undefined : `${client} node/${node}`;
}
