import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { HEADERS } from '@shortlink/sdk/wire';
import { SECURITY_HEADERS } from './context.ts';

/** What node finds wrong with a request before anyone sees it, by the code of its error. Anything else is a 400. */
const NODE_ERRORS: Record<string, [status: number, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The request line and headers are larger than 16 KiB.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions of the request body are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
};

/** Writes the response to bytes that node could not read as a request, and returns its status; the connection closes after it. */
export function respondToClientError(socket: Duplex, code: string | undefined): number {
  const [status, message] = NODE_ERRORS[code ?? ''] ?? [400, 'The request is not valid HTTP.'];
  const { headers, body } = errorResponse(message);
  const all = Object.entries({ ...headers, Connection: 'close' });
  const lines = all.map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', ''].join('\r\n');
  socket.end(head + body);
  return status;
}

/** A hostname has at most 253 characters. A URL parser may take milliseconds for a longer one. */
const MAX_HOST_BYTES = 300;

/** The authority of a request target that is a URL. A URL parser passes over more than two slashes. */
const AUTHORITY = /^https?:\/\/+([^/?#]*)/;

/** What the app can't see. RFC 9112 section 3.2: a request of HTTP/1.1 has exactly one `Host`. Of two, a proxy in front may take the other one. */
export function hostProblem(request: IncomingMessage): string | undefined {
  const { rawHeaders, httpVersion, headers, url } = request;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) return 'The request has more than one Host header.';
  if (hosts === 0 && httpVersion === '1.1') return 'The request has no Host header.';
  const authority = AUTHORITY.exec(url ?? '')?.[1];
  if (Math.max(headers.host?.length ?? 0, authority?.length ?? 0) > MAX_HOST_BYTES) {
    return `The host of the request has more than ${MAX_HOST_BYTES} bytes.`;
  }
  return undefined;
}

/** Ends a request that the app never sees; its connection closes, because its body isn't read. */
export function sendError(outgoing: ServerResponse, status: number, message: string): void {
  const { headers, body } = errorResponse(message);
  outgoing.shouldKeepAlive = false;
  outgoing.writeHead(status, headers).end(body);
}

/** The response to a request target or `Host` that makes no URL (RFC 9112 section 3.2). */
export function invalidTarget(): Response {
  const { headers, body } = errorResponse('The request target or Host header is invalid.');
  return new Response(body, { status: 400, headers });
}

function errorResponse(message: string): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify({ error: message, code: 'invalid_request' });
  const headers = {
    ...SECURITY_HEADERS,
    [HEADERS.requestId]: crypto.randomUUID(),
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
  };
  return { headers, body };
}
