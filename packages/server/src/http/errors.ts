import { createHash } from 'node:crypto';
import { API_PREFIX } from '@shortlink/sdk/wire';
import type { Context, ErrorHandler } from 'hono';
import { internal, invalidRequest, notFound, Problem, unavailable } from '../domain/problem.ts';
import type { Logger, OutageLog } from '../logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { StoreError, type StoreErrorReason } from '../store/store-error.ts';
import type { AppEnv } from './context.ts';
import { respond, respondJson, SECURITY_HEADERS, setHeader, setHeaders } from './respond.ts';

/**
 * Failures of the database that pass, and with which nothing was stored: 503 and `Retry-After`, after which clients send the request
 * again, also a POST. The others are faults of the service: 500. `outcome_unknown` is one of those, because a create that is
 * sent again could create twice.
 */
const PASSING: ReadonlySet<StoreErrorReason> = new Set<StoreErrorReason>([
  'busy',
  'full',
  'read_only',
  'unavailable',
  'closed',
]);

export interface ErrorResponseDeps {
  logger: Logger | undefined;
  /** For requests that fail because the database is away: a busy service has thousands of those a second. */
  outage: OutageLog;
  metrics: Metrics;
  visitorUrls: VisitorUrls;
}

/** The response to what was thrown: a {@link Problem} as it says, anything else without its cause, which only the log gets. */
export function respondToError(deps: ErrorResponseDeps): ErrorHandler<AppEnv> {
  return (error, c) => {
    const rejected = rejectionOf(error);
    if (rejected !== undefined) {
      deps.metrics.countRefusal(rejected.code);
      return respondToProblem(c, rejected, deps.visitorUrls);
    }
    const requestId = c.get('requestId');
    if (error instanceof StoreError) deps.metrics.countStoreError(error.reason);
    if (error instanceof StoreError && PASSING.has(error.reason)) {
      deps.outage.failed(error, { request_id: requestId });
      return respondToProblem(c, unavailable(), deps.visitorUrls);
    }
    deps.logger?.error({ err: error, request_id: requestId }, 'request failed');
    return respondToProblem(c, internal(requestId), deps.visitorUrls);
  };
}

/** What was wrong with the request; `undefined` for a failure of the service. */
function rejectionOf(error: Error): Problem | undefined {
  if (error instanceof Problem) return error;
  if (!(error instanceof StoreError) || error.reason !== 'invalid') return undefined;
  return invalidRequest('The request holds text that can not be stored, such as U+0000.');
}

/** A page for a visitor where there is one, else JSON. */
export function respondToProblem(
  c: Context<AppEnv>,
  { status, body, headers }: Pick<Problem, 'status' | 'body' | 'headers'>,
  visitorUrls: VisitorUrls,
): Response {
  setHeaders(c, SECURITY_HEADERS);
  setHeaders(c, headers);
  return visitorResponse(c, status, visitorUrls) ?? respondJson(c, body, status);
}

/** Where visitors are sent instead of the service's own pages. */
export interface VisitorUrls {
  /** For everyone who opens `/`. @default a page that says what this is, and 404 for programs */
  rootUrl?: string | undefined;
  /** For visitors whose link doesn't exist or is switched off. @default a page that says so */
  notFoundUrl?: string | undefined;
}

/** What a visitor reads, by the status of the response. Programs get JSON with these statuses. */
const PAGES: Record<number, { title: string; text: string }> = {
  200: {
    title: 'Short links',
    text: 'This address belongs to a short-link service. To follow a link, open its whole address, with the code at its end.',
  },
  404: {
    title: 'Link not found',
    text: 'No link has this address. Perhaps a character is missing, or a capital letter became a small one.',
  },
  410: { title: 'Link switched off', text: 'This link existed once, and was switched off.' },
  500: { title: 'Something went wrong', text: 'The fault is on our side. Please try again later.' },
  503: {
    title: 'Back in a moment',
    text: 'The service can not look this link up just now. Please try again in a moment.',
  },
};

const STYLE = `
:root { color-scheme: light dark; font: 1.125rem/1.6 system-ui, sans-serif; }
body { display: grid; place-content: center; min-height: 90vh; margin: 0 1.5rem; }
main { max-width: 32rem; }
h1 { font-size: 1.5rem; font-weight: 600; }
`;

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function pageOf({ title, text }: { title: string; text: string }): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
<main>
<h1>${title}</h1>
<p>${text}</p>
</main>
</html>
`;
}

/**
 * The response to a person in a browser, who can't do anything with JSON: a page, or a redirect where the operator wants one.
 * `undefined` for programs, and for responses that no person gets.
 */
export function visitorResponse(
  c: Context<AppEnv>,
  status: number,
  { notFoundUrl }: VisitorUrls,
): Response | undefined {
  const { method, path } = c.req;
  const page = PAGES[status];
  const isOpen = (method === 'GET' || method === 'HEAD') && !path.startsWith(`${API_PREFIX}/`);
  if (page === undefined || !isOpen) return undefined;
  setHeader(c, 'Vary', 'Accept');
  if (!acceptsHtml(c.req.header('Accept'))) return undefined;
  if (notFoundUrl !== undefined && (status === 404 || status === 410)) {
    return respond(c, null, 302, { Location: notFoundUrl, 'Content-Length': '0' });
  }
  return respond(c, pageOf(page), status, {
    'Content-Type': 'text/html; charset=UTF-8',
    'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  });
}

/** `GET /` */
export function root(urls: VisitorUrls) {
  const { rootUrl } = urls;
  return (c: Context<AppEnv>): Response => {
    setHeader(c, 'Cache-Control', 'private, max-age=0');
    if (rootUrl !== undefined) {
      return respond(c, null, 302, { Location: rootUrl, 'Content-Length': '0' });
    }
    const page = visitorResponse(c, 200, urls);
    if (page === undefined) throw notFound('Path');
    return page;
  };
}

/** Whether the list of media types has `text/html`, as those of browsers do; the ones of programs are empty or have a wildcard. */
function acceptsHtml(accept = ''): boolean {
  return accept
    .split(',')
    .some((range) => /^\s*text\/html\s*(?:;(?!\s*q=0(?:\.0*)?\s*$)|$)/i.test(range));
}
