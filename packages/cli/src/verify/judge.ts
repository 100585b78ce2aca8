import type { Reply } from './ask.ts';

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
  /** No response for another reason. */
  'unreachable',
  /** No URLs in the row, or it can't be read. */
  'invalid_row',
  /** `--targets`: the redirect is right, but nothing is at the target. */
  'dead_target',
  /** The row has no short URL of its own. */
  'skipped',
  /** The run was stopped before this row. */
  'not_asked',
] as const;

export type Finding = (typeof FINDINGS)[number];

/** Columns that a report adds. */
export interface Verdict {
  verified: Finding;
  /** The status of the short URL's last response. */
  verified_status?: number | undefined;
  verified_location?: string | undefined;
  verified_target_status?: number | undefined;
  /** What is wrong, for every finding but `ok`. */
  verified_problem?: string | undefined;
}

const REDIRECTS: readonly number[] = [301, 302, 307, 308];

/** Whether a response leads to `target`. A link that is switched off (`isOff`) must not lead anywhere. */
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
  // As a browser reads both: `Location` may be relative, and is percent-encoded where the target may hold any character.
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

export function judgeTarget(right: Verdict, reply: Reply): Verdict {
  const { status } = reply;
  const asked = { ...right, verified_target_status: status };
  // Any other status says that somebody is there who doesn't talk to programs, or without a password.
  const isDead = status === 404 || status === 410 || (status ?? 500) >= 500;
  if (!isDead) return asked;
  const why = 'failure' in reply ? reply.problem : `the status is ${status}`;
  return { ...asked, verified: 'dead_target', verified_problem: `its target is dead: ${why}` };
}
