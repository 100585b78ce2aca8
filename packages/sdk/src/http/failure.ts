import { ConnectionError } from '../errors/call-errors.ts';

/** Replaces a secret wherever it stands in a text. */
export type Redact = (text: string) => string;

/** A shorter key is no secret, but a part of ordinary words: to replace it would make messages unreadable. */
const MIN_SECRET_LENGTH = 8;

/**
 * Removes the API key; what came from the network goes through it before it may reach an error or a log line. In JSON
 * the key may be written with escapes.
 */
export function createRedact(secret: string): Redact {
  if (secret.length < MIN_SECRET_LENGTH) return (text) => text;
  const quoted = JSON.stringify(secret).slice(1, -1);
  const spellings = new Set([secret, quoted, quoted.replaceAll('/', '\\/')]);
  return (text) =>
    [...spellings].reduce((rest, spelling) => rest.replaceAll(spelling, '[API key]'), text);
}

/** How far a chain of causes is followed; a loop ends there too. */
const MAX_CAUSES = 5;

/** The fields that matter of whatever was thrown. */
interface CauseParts {
  name: string;
  message: string;
  /** Such as `ECONNREFUSED`. */
  code: string | undefined;
  /** Such as `connect`, in Node and Bun. */
  syscall: string | undefined;
}

/**
 * What was thrown and its causes, the innermost last. Of several failed addresses of one host (`AggregateError`), the
 * first is the cause.
 */
function causeChain(thrown: unknown): CauseParts[] {
  const chain: CauseParts[] = [];
  let current = thrown;
  while (current !== undefined && current !== null && chain.length < MAX_CAUSES) {
    const fields: Partial<Record<keyof CauseParts | 'cause' | 'errors', unknown>> =
      typeof current === 'object' ? current : { message: String(current) };
    const { name, message, code, syscall, cause, errors } = fields;
    chain.push({
      name: textOf(name) ?? 'Error',
      message: textOf(message) ?? '',
      code: textOf(code),
      syscall: textOf(syscall),
    });
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return chain;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * A plain copy of an error and its causes: name, message and code, without anything else. The errors of HTTP libraries
 * carry the `Request`, and with it the API key, where `util.inspect` shows it.
 */
export function scrubCause(thrown: unknown, redact: Redact): Error | undefined {
  let cause: Error | undefined;
  for (const { name, message, code } of causeChain(thrown).reverse()) {
    const copy = new Error(redact(message), cause && { cause });
    Object.defineProperty(copy, 'name', { value: name, configurable: true });
    // The stack would be ours, which says nothing about where it happened.
    Object.defineProperty(copy, 'stack', { value: `${name}: ${copy.message}` });
    cause = code === undefined ? copy : Object.assign(copy, { code });
  }
  return cause;
}

/** Codes that only a connection gives that was never established; sending again may help. */
const CONNECT_CODES: ReadonlySet<string> = new Set([
  // Node, and Bun where it follows it
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'EAI_NONAME',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_PRX_CONN',
  // Bun
  'ConnectionRefused',
  'FailedToOpenSocket',
  'DNSResolveFailed',
  'DNSLookupFailed',
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
]);

/** TLS failed before a byte of the request was written, and will fail again until someone changes something. */
const TLS_CODES: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'HOSTNAME_MISMATCH',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
]);

/** Of these, the ones that a port gives which speaks no TLS. */
const NO_TLS_CODES: readonly string[] = [
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
];

/** System calls that come before the request is written: EHOSTUNREACH while reading is another matter. */
const CONNECT_SYSCALLS: ReadonlySet<string> = new Set(['connect', 'getaddrinfo']);

/** Failures to connect without a code of their own, as each runtime words them. */
const CONNECT_MESSAGES = [
  // Deno: its HTTP library names the phase, DNS and TLS included.
  'client error (Connect)',
  // Bun: EPROTO, which alone could come later too.
  'TLS handshake failed',
  // Node: a proxy that opens no tunnel.
  'when HTTP Tunneling',
];

/** Those of them that come again until someone changes something. */
const PERMANENT_MESSAGES = [
  // Deno
  'invalid peer certificate',
  // Node, then Deno: the ports that the Fetch Standard blocks.
  'bad port',
  'Requests to port',
];

/** What a failure of `fetch` shows. */
export interface Failure {
  /** The request never left. False where that can't be known, as in browsers, which hide the reason. */
  isNeverSent: boolean;
  /** Sending again can't help until someone changes something, such as a certificate. */
  isPermanent: boolean;
  code: string | undefined;
  /** Why it failed, in words. */
  reason: string;
}

/** Judges what `fetch` threw. The innermost cause has the words: `fetch failed` says nothing, what caused it does. */
export function judgeFailure(thrown: unknown): Failure {
  const chain = causeChain(thrown);
  const has = (words: readonly string[]) =>
    chain.some(({ message }) => words.some((word) => message.includes(word)));
  const codes = chain.map(({ code = '' }) => code);
  const isPermanent = codes.some((code) => TLS_CODES.has(code)) || has(PERMANENT_MESSAGES);
  const isNeverSent =
    isPermanent ||
    codes.some((code) => CONNECT_CODES.has(code)) ||
    chain.some(({ syscall = '' }) => CONNECT_SYSCALLS.has(syscall)) ||
    has(CONNECT_MESSAGES);
  const speaksNoTls = codes.some((code) => NO_TLS_CODES.includes(code));
  const reason = speaksNoTls
    ? 'this port does not speak TLS; use http: in baseUrl, or the port of the service that speaks https'
    : chain.reduce((outer, { message, code }) => message || code || outer, '');
  const code = codes.findLast((each) => each !== '');
  return { isNeverSent, isPermanent, code, reason: reason || 'no reason given' };
}

/** The error of an attempt that got no response, or lost it on the way. */
export function connectionError(
  thrown: unknown,
  { url, started, redact }: { url: string; started: boolean; redact: Redact },
): ConnectionError {
  const { isNeverSent, isPermanent, code, reason } = judgeFailure(thrown);
  const outcome = !started || isNeverSent ? 'not-sent' : 'unknown';
  const { origin } = new URL(url);
  const message =
    outcome === 'not-sent'
      ? `No connection to ${origin}: ${redact(reason)}`
      : `Connection to ${origin} lost: ${redact(reason)}; the request may have been carried out`;
  return new ConnectionError(message, {
    outcome,
    code,
    isPermanent,
    cause: scrubCause(thrown, redact),
  });
}

/**
 * Gives an error the stack of the code that calls this. An error made in a timer or behind `new Promise` knows nothing of
 * the code that waits for it; captured in the async function that it passes through, its stack leads to the caller. V8
 * only; elsewhere the stack stays as it is.
 */
export function recaptureStack(error: Error): void {
  const capture: unknown = Reflect.get(Error, 'captureStackTrace');
  if (typeof capture === 'function') capture(error, recaptureStack);
}
