// A worker that shortens URLs for pages, so that the API key stays on the server:
//
//   curl https://my-worker.example.com/ --data '{"url": "https://example.com/docs"}'
//
// Run it with `npx wrangler dev`; wrangler.toml says which settings it takes.
import { BadRequestError, RateLimitError, Shortlink, ShortlinkError } from '@shortlink/sdk';

interface Env {
  SHORTLINK_API_KEY: string;
  SHORTLINK_BASE_URL: string;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (request.method !== 'POST') return problem(405, 'POST { "url": "…" }');
    const url = await urlOf(request);
    if (url === undefined) return problem(400, 'the body must be { "url": "…" }');
    const shortlink = new Shortlink({
      apiKey: env.SHORTLINK_API_KEY,
      baseUrl: env.SHORTLINK_BASE_URL,
      // A visitor waits for the page, so a request may take no longer than this.
      totalTimeoutMs: 10_000,
      maxRetryAfterMs: 3_000,
    });
    try {
      // The visitor has gone: stop the request.
      const link = await shortlink.links.create({ target_url: url }, { signal: request.signal });
      return Response.json({ short_url: link.short_url }, { status: 201 });
    } catch (error) {
      return answerTo(error);
    }
  },
};

/** The errors that the page may see: its own mistakes, and when to try again. */
function answerTo(error: unknown): Response {
  if (BadRequestError.isInstance(error)) return problem(400, error.message);
  if (RateLimitError.isInstance(error)) {
    const seconds = Math.ceil((error.retryAfterMs ?? 60_000) / 1000);
    return problem(503, 'busy', { 'Retry-After': String(seconds) });
  }
  console.error(ShortlinkError.isInstance(error) ? `${error.name}: ${error.message}` : error);
  return problem(502, 'the link could not be created');
}

async function urlOf(request: Request): Promise<string | undefined> {
  const body: unknown = await request.json().catch(() => undefined);
  const isObject = typeof body === 'object' && body !== null && 'url' in body;
  return isObject && typeof body.url === 'string' ? body.url : undefined;
}

function problem(status: number, error: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error }, { status, headers });
}
