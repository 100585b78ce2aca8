import { causeChain } from './causes.ts';

/** Codes that only a connection that never stood gives. */
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
  // TLS: the certificate was refused, or the handshake failed, before a byte of the request was written
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
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
]);

/** System calls that come before the request is written: EHOSTUNREACH while reading is another matter. */
const CONNECT_SYSCALLS: ReadonlySet<string> = new Set(['connect', 'getaddrinfo']);

/** Failures without a code of their own, as each runtime words them. */
const CONNECT_MESSAGES = [
  // Deno: its HTTP library names the phase, DNS and TLS included.
  'client error (Connect)',
  // Bun: EPROTO, which alone could come later too.
  'TLS handshake failed',
  // Node, then Deno: the ports that the Fetch Standard blocks.
  'bad port',
  'Requests to port',
  // Node: a proxy that opens no tunnel.
  'when HTTP Tunneling',
];

/**
 * Whether a failure of `fetch` shows that the request never left. False where it can't be known, as in browsers, which
 * hide the reason: then the request may have been carried out.
 */
export function isNeverSent(error: unknown): boolean {
  return causeChain(error).some(
    ({ code = '', syscall = '', message }) =>
      CONNECT_CODES.has(code) ||
      CONNECT_SYSCALLS.has(syscall) ||
      CONNECT_MESSAGES.some((words) => message.includes(words)),
  );
}
