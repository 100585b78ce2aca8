import type { Reply } from './ask.ts';

/** What was found out about the short URL of a row. */
export const FINDINGS = [
  'ok',
  'wrong_target',
  /** A response that is no redirect (301, 302, 307, 308). */
  'no_redirect',
  'not_found',
  'gone',
  /** Any other status of 400 and above. */
  'http_error',
  'timeout',
  'tls_error',
  /** There was no response for another reason: the host doesn't exist, the connection was refused. */
  'unreachable',
  /** The row has a short URL or a target that can't be a URL, or no target, or can't be read. */
  'invalid_row',
  /** `--targets`: the redirect is right, but nothing is at the target. */
  'dead_target',
  /** The row has no short URL of its own, so nothing was asked. */
  'skipped',
  /** The run was stopped before this row. */
  'not_asked',
] as const;

export type Finding = (typeof FINDINGS)[number];

/** What a report adds to the columns of a table. */
export interface Verdict {
  verified: Finding;
  /** HTTP status of the short URL's last response, and where it redirects to. */
  verified_status?: number | undefined;
  verified_location?: string | undefined;
  /** HTTP status of the target's last response. */
  verified_target_status?: number | undefined;
  /** In words, for everything that is not `ok`. */
  verified_problem?: string | undefined;
}

const REDIRECTS: readonly number[] = [301, 302, 307, 308];

/**
 * Whether a response to the short URL leads to `target`. `Location` may be relative to the short URL.
 *
 * @param isOff - whether the link is switched off, and so must not lead anywhere
 */
export function judge(shortUrl: URL, target: URL, reply: Reply, isOff = false): Verdict {
  const { status } = reply;
  if ('failure' in reply) return verdictOf(reply.failure, reply.problem, { status });
  const { location } = reply;
  const verdict = (finding: Finding, problem?: string) => verdictOf(finding, problem, reply);
  if (status === 404) return verdict('not_found', 'the server does not know this short URL (404)');
  if (status === 410 && isOff) return verdict('ok');
  if (status === 410) return verdict('gone', 'the link is not active (410)');
  if (reply.status >= 400) return verdict('http_error', `the server responded with ${status}`);
  if (!REDIRECTS.includes(reply.status) || location === undefined) {
    const lacks = REDIRECTS.includes(reply.status) ? ' without a Location' : '';
    return verdict('no_redirect', `it does not redirect: the status is ${status}${lacks}`);
  }
  if (isOff) {
    return verdict('wrong_target', `it leads to ${location}, although the link is switched off`);
  }
  // Both are read as a browser reads them: `Location` is percent-encoded where the target may hold any character.
  const isRight = URL.parse(location, shortUrl.href)?.href === target.href;
  return isRight ? verdict('ok') : verdict('wrong_target', `it leads to ${location}`);
}

export function verdictOf(
  verified: Finding,
  verified_problem?: string,
  reply: { status?: number | undefined; location?: string | undefined } = {},
): Verdict {
  const { status: verified_status, location: verified_location } = reply;
  return { verified, verified_status, verified_location, verified_problem };
}

/** The verdict on a row whose short URL is right, by what its target responded. */
export function judgeTarget(right: Verdict, reply: Reply): Verdict {
  const { status } = reply;
  const asked = { ...right, verified_target_status: status };
  // Any other status says that somebody is there who doesn't talk to programs, or not without a password.
  const isDead = status === 404 || status === 410 || (status ?? 500) >= 500;
  if (!isDead) return asked;
  const why = 'failure' in reply ? reply.problem : `the status is ${status}`;
  return { ...asked, verified: 'dead_target', verified_problem: `its target is dead: ${why}` };
}
