import type { Reply } from './ask.ts';

/** What was found out about the short URL of a row. */
export const FINDINGS = [
  'ok',
  /** The short URL redirects to another address than the row's target. */
  'wrong_target',
  /** The server responds, but not with a redirect (301, 302, 307, 308). */
  'no_redirect',
  /** 404: there is no such link. */
  'not_found',
  /** 410: the link exists, but it is not active. */
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

export interface Verdict {
  finding: Finding;
  /** HTTP status of the short URL's last response. */
  status?: number | undefined;
  /** Where the short URL redirects to. */
  location?: string | undefined;
  /** HTTP status of the target's last response. */
  targetStatus?: number | undefined;
  /** In words, for everything that is not `ok`. */
  problem?: string | undefined;
}

const REDIRECTS: readonly number[] = [301, 302, 307, 308];

/** Whether a response to the short URL leads to `target`. `Location` may be relative to the short URL. */
export function judge(shortUrl: URL, target: URL, reply: Reply): Verdict {
  const { status } = reply;
  if ('failure' in reply) return { finding: reply.failure, status, problem: reply.problem };
  const { location } = reply;
  const verdict = (finding: Finding, problem?: string): Verdict => ({
    finding,
    status,
    location,
    problem,
  });
  if (reply.status === 404) {
    return verdict('not_found', 'the server does not know this short URL (404)');
  }
  if (reply.status === 410) return verdict('gone', 'the link is not active (410)');
  if (reply.status >= 400) return verdict('http_error', `the server responded with ${status}`);
  if (!REDIRECTS.includes(reply.status) || location === undefined) {
    const lacks = REDIRECTS.includes(reply.status) ? ' without a Location' : '';
    return verdict('no_redirect', `it does not redirect: the status is ${status}${lacks}`);
  }
  // Both are read as a browser reads them: `Location` is percent-encoded where the target may hold any character.
  const isRight = URL.parse(location, shortUrl.href)?.href === target.href;
  return isRight ? verdict('ok') : verdict('wrong_target', `it leads to ${location}`);
}

/** The verdict on a row whose short URL is right, by what its target responded. */
export function judgeTarget(right: Verdict, reply: Reply): Verdict {
  const { status: targetStatus } = reply;
  const dead = (problem: string): Verdict => ({
    ...right,
    finding: 'dead_target',
    targetStatus,
    problem: `its target is dead: ${problem}`,
  });
  if ('failure' in reply) return dead(reply.problem);
  // Any other status says that somebody is there who doesn't talk to programs, or not without a password.
  const isDead = reply.status === 404 || reply.status === 410 || reply.status >= 500;
  return isDead ? dead(`the status is ${targetStatus}`) : { ...right, targetStatus };
}
