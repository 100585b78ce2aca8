import { ConnectionError } from '../errors/call-errors.ts';

/** Replaces a secret wherever a string contains it. */
export type Redact = (text: string) => string;

/** A shorter key may be a part of ordinary words, and replacing it would make messages unreadable. */
const MIN_SECRET_LENGTH = 8;

/** Characters that HTML writes as names. */
const HTML_NAMES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

/**
 * Removes the API key. Each character of it may have backslashes before it, or be written as `\u003d`, `%3D`, `&#x3d;`,
 * `&#61;` or `&amp;`. Backslashes before the key are removed too, so that JSON stays JSON. A search takes linear time.
 */
export function createRedact(secret: string): Redact {
  if (secret.length < MIN_SECRET_LENGTH) return (text) => text;
  const spellings = secret.replace(/./g, (character) => {
    const code = character.charCodeAt(0);
    const hex = code.toString(16);
    const name = HTML_NAMES[character] ?? `#${code}`;
    return `\\\\*(?:\\x${hex}|u00${hex}|%${hex}|&(?:#x0*${hex}|#0*${code}|${name});)`;
  });
  const pattern = new RegExp(`(?<!\\\\)${spellings}`, 'gi');
  // Without what may stand before the first character, an engine knows sooner that a text doesn't hold the key.
  const mayHold = new RegExp(spellings.slice('\\\\*'.length), 'i');
  return (text) => (mayHold.test(text) ? text.replace(pattern, '[API key]') : text);
}

/** How far a chain of causes is followed; a loop ends there too. */
const MAX_CAUSES = 5;

/** The fields that matter of whatever was thrown; empty where there is none. */
type CauseParts = Record<'name' | 'message' | 'code' | 'syscall', string>;

/** What was thrown and its causes, the innermost last. Of an `AggregateError`, the first error is the cause. */
function causeChain(thrown: unknown): CauseParts[] {
  const chain: CauseParts[] = [];
  let current = thrown;
  while (current !== undefined && current !== null && chain.length < MAX_CAUSES) {
    const fields: Partial<Record<keyof CauseParts | 'cause' | 'errors', unknown>> =
      typeof current === 'object' ? current : { message: String(current) };
    const { name, message, code, syscall, cause, errors } = fields;
    const text = (value: unknown) => (typeof value === 'string' ? value : '');
    const codes = { code: text(code), syscall: text(syscall) };
    chain.push({ name: text(name) || 'Error', message: text(message), ...codes });
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return chain;
}

/** A plain copy of an error and its causes: those of HTTP libraries carry the `Request`, and with it the API key. */
export function scrubCause(thrown: unknown, redact: Redact): Error | undefined {
  let cause: Error | undefined;
  for (const { name, message, code } of causeChain(thrown).reverse()) {
    const copy = new Error(redact(message), cause && { cause });
    // The stack would be ours, which says nothing about where it happened.
    const stack = { value: `${redact(name)}: ${copy.message}` };
    Object.defineProperties(copy, { name: { value: redact(name) }, stack });
    cause = code ? Object.assign(copy, { code: redact(code) }) : copy;
  }
  return cause;
}

/** Codes of a connection that was never established. Alerts of a TLS handshake have other names in each OpenSSL. */
const CONNECT_CODE =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|UND_ERR_CONNECT_TIMEOUT|UND_ERR_PRX_CONN|ConnectionRefused|FailedToOpenSocket|DNS\w+Failed|ERR_SSL_(?:SSLV3|SSL\/TLS|TLSV1)_(?:ALERT_)?(?:HANDSHAKE_FAILURE|UNRECOGNIZED_NAME|NO_APPLICATION_PROTOCOL))$/;

/** TLS failed before a byte of the request was written, because this port speaks no TLS. */
const NO_TLS_CODE = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/;

/** Failed before a byte was written, and will again: TLS, and what undici refuses, such as a header or a dispatcher. */
const PERMANENT_CODE =
  /^(?:UND_ERR_INVALID_ARG|UND_ERR_NOT_SUPPORTED|\w+_SIGNED_CERT\w*|UNABLE_TO_(?:VERIFY|GET)_\w+|CERT_\w+|HOSTNAME_MISMATCH|ERR_TLS_CERT_ALTNAME_INVALID|ERR_SSL_UNSUPPORTED_PROTOCOL|ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION)$/;

/** System calls that come before the request is written: EHOSTUNREACH while reading is another matter. */
const CONNECT_SYSCALL = /^(?:connect|getaddrinfo)$/;

/**
 * Failures to connect without a code of their own. Deno names the phase. Bun: EPROTO, which alone could come later too. Node: a
 * proxy that opens no tunnel, a connection closed during the TLS handshake, a refused HTTP/2 request (RFC 9113 section 8.7).
 */
const CONNECT_MESSAGE =
  / \(Connect\)|TLS handshake failed|HTTP Tunneling|before secure TLS|NGHTTP2_REFUSED_STREAM/;

/** The same in words: a certificate in Deno, a blocked port, a proxy that wants a password and a wrong dispatcher in undici. */
const PERMANENT_MESSAGE =
  /peer certificate|bad port|Requests to port|Proxy response \(407\)|dispatch is not a function/;

/** Deno has no permission to connect, as without `--allow-net`. */
const PERMANENT_NAME = /^(?:NotCapable|PermissionDenied)$/;

/**
 * Judges what `fetch` threw: the innermost cause has the words. `isNeverSent` is false also where that can't be known, as in
 * browsers. `isPermanent`: sending again can't help until someone changes something, such as a certificate.
 */
export function judgeFailure(thrown: unknown) {
  const chain = causeChain(thrown);
  const has = (field: keyof CauseParts, pattern: RegExp) =>
    chain.some((cause) => pattern.test(cause[field]));
  const speaksNoTls = has('code', NO_TLS_CODE);
  const isPermanent =
    speaksNoTls ||
    has('code', PERMANENT_CODE) ||
    has('message', PERMANENT_MESSAGE) ||
    has('name', PERMANENT_NAME);
  const isNeverSent =
    isPermanent ||
    has('code', CONNECT_CODE) ||
    has('syscall', CONNECT_SYSCALL) ||
    has('message', CONNECT_MESSAGE);
  const reason = speaksNoTls
    ? 'this port speaks no TLS; use http: in baseUrl, or the https port'
    : chain.reduce((outer, { message, code }) => message || code || outer, 'no reason given');
  const code = chain.findLast((cause) => cause.code)?.code;
  return { isNeverSent, isPermanent, code, reason };
}

/** The error of an attempt without a response. `isRefused`: the runtime refused it before it sent anything, and will again. */
export function connectionError(
  thrown: unknown,
  { url, isRefused, redact }: { url: string; isRefused: boolean; redact: Redact },
): ConnectionError {
  const { isNeverSent, isPermanent, code, reason } = judgeFailure(thrown);
  const outcome = isRefused || isNeverSent ? 'not-sent' : 'unknown';
  const { origin } = new URL(url);
  const message =
    outcome === 'not-sent'
      ? `No connection to ${origin}: ${redact(reason)}`
      : `Connection to ${origin} lost: ${redact(reason)}; the request may have been carried out`;
  return new ConnectionError(message, {
    outcome,
    code: code && redact(code),
    isPermanent: isRefused || isPermanent,
    cause: scrubCause(thrown, redact),
  });
}

/** Gives an error the stack of the code that calls this: that of a timer leads nowhere. Works in V8 only. */
export function recaptureStack(error: Error): void {
  const capture: unknown = Reflect.get(Error, 'captureStackTrace');
  if (typeof capture === 'function') capture(error, recaptureStack);
}
