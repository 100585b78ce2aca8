import { hash } from 'node:crypto';
import { API_PREFIX } from '@shortlink/sdk/wire';
import type { Context, ErrorHandler } from 'hono';
import { hostOfUrl } from '../domain/hostnames.ts';
import { internal, invalidRequest, notFound, Problem, unavailable } from '../domain/problem.ts';
import type { OutageLog } from '../logger.ts';
import { StoreError, type StoreErrorReason } from '../store/store-error.ts';
import { type AppEnv, type AppOptions, respond, respondJson, SECURITY_HEADERS } from './context.ts';

/** Failures that pass, and with which nothing was stored: 503, after which clients also send a POST again. Any other is 500, since a create could be made twice. */
const PASSING = new Set<StoreErrorReason>(['busy', 'full', 'read_only', 'unavailable', 'closed']);

const UNSTORABLE = 'The request holds text that can not be stored, such as U+0000.';

/** Responds to a {@link Problem} as it says. Only the log gets the cause of anything else; `outage` logs what fails while the database is away. */
export function respondToError(deps: AppOptions, outage: OutageLog): ErrorHandler<AppEnv> {
  const { metrics, logger } = deps;
  const problemOf = (error: Error, requestId: string): Problem => {
    const reason = error instanceof StoreError ? error.reason : undefined;
    const rejected = reason === 'invalid' ? invalidRequest(UNSTORABLE) : error;
    if (rejected instanceof Problem) {
      metrics.count('refusals', `code="${rejected.code}"`);
      return rejected;
    }
    if (reason !== undefined) metrics.count('store_errors', `reason="${reason}"`);
    if (reason !== undefined && PASSING.has(reason)) {
      outage.failed(error, { request_id: requestId });
      return unavailable();
    }
    logger?.error({ err: error, request_id: requestId }, 'request failed');
    return internal(requestId);
  };
  return (error, c) => respondToProblem(c, problemOf(error, c.get('requestId')), deps);
}

export function respondToProblem(c: Context<AppEnv>, problem: Problem, urls: AppOptions): Response {
  const { status, body, headers } = problem;
  Object.assign(c.get('responseHeaders'), headers);
  return visitorResponse(c, status, urls) ?? respondJson(c, body, status);
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

const STYLE_HASH = hash('sha256', STYLE, 'base64');
const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

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

/** What a person in a browser gets: a page, or a redirect where the operator wants one. `undefined` for programs. */
function visitorResponse(c: Context<AppEnv>, status: number, { notFoundUrl }: AppOptions) {
  const { method, path } = c.req;
  const page = PAGES[status];
  const isOpen = (method === 'GET' || method === 'HEAD') && !path.startsWith(`${API_PREFIX}/`);
  if (page === undefined || !isOpen) return undefined;
  c.get('responseHeaders')['Vary'] = 'Accept';
  if (!acceptsHtml(c.req.header('Accept'))) return undefined;
  const elsewhere = status === 404 || status === 410 ? redirectTo(c, notFoundUrl) : undefined;
  if (elsewhere !== undefined) return elsewhere;
  return respond(c, pageOf(page), status, {
    'Content-Type': 'text/html; charset=UTF-8',
    'Content-Security-Policy': PAGE_POLICY,
  });
}

/** A redirect to a page of the operator, but none from the host of that page: the visitor would come back without end. */
function redirectTo(c: Context<AppEnv>, url: string | undefined): Response | undefined {
  if (url === undefined || hostOfUrl(url) === hostOfUrl(c.req.url)) return undefined;
  return respond(c, null, 302, { ...SECURITY_HEADERS, Location: url, 'Content-Length': '0' });
}

export function root(urls: AppOptions) {
  return (c: Context<AppEnv>): Response => {
    c.get('responseHeaders')['Cache-Control'] = 'private, max-age=0';
    const page = redirectTo(c, urls.rootUrl) ?? visitorResponse(c, 200, urls);
    if (page === undefined) throw notFound('Path');
    return page;
  };
}

const HTML = /^\s*text\/html\s*(?:;(?!\s*q=0(?:\.0*)?\s*$)|$)/i;

/** Browsers accept `text/html`; programs accept nothing in particular, or a wildcard. */
const acceptsHtml = (accept = '') => accept.split(',').some((range) => HTML.test(range));
