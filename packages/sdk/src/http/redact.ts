/** Replaces a secret wherever it stands in a text. */
export type Redact = (text: string) => string;

/** Removes one secret; what came from the network goes through it before it may reach an error or a log line. */
export function createRedact(secret: string): Redact {
  return (text) => text.replaceAll(secret, '[API key]');
}

/** How far a chain of causes is followed; a loop ends there too. */
const MAX_CAUSES = 5;

/**
 * A plain copy of an error and its causes: name, message and code, without anything else. The errors of HTTP libraries
 * carry the `Request`, and with it the API key, where `util.inspect` shows it.
 */
export function scrubCause(error: unknown, redact: Redact, depth = 0): Error | undefined {
  if (error === undefined || error === null || depth === MAX_CAUSES) return undefined;
  const source = causeParts(error);
  const cause = scrubCause(source.cause, redact, depth + 1);
  const copy = new Error(redact(source.message), cause && { cause });
  Object.defineProperty(copy, 'name', { value: source.name, configurable: true });
  // The stack would be ours, which says nothing about where it happened.
  Object.defineProperty(copy, 'stack', { value: `${source.name}: ${copy.message}` });
  return source.code === undefined ? copy : Object.assign(copy, { code: source.code });
}

/** The fields that matter of whatever was thrown. */
export interface CauseParts {
  name: string;
  message: string;
  /** Such as `ECONNREFUSED`. */
  code: string | undefined;
  /** Such as `connect`, in Node and Bun. */
  syscall: string | undefined;
  cause: unknown;
}

/** Reads {@link CauseParts}. Of several failed addresses of one host (`AggregateError`), the first is the cause. */
export function causeParts(error: unknown): CauseParts {
  const fields: Partial<Record<keyof CauseParts | 'errors', unknown>> =
    typeof error === 'object' && error !== null ? error : { message: String(error) };
  const { name, message, code, syscall, cause, errors } = fields;
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : '',
    code: typeof code === 'string' ? code : undefined,
    syscall: typeof syscall === 'string' ? syscall : undefined,
    cause: cause ?? (Array.isArray(errors) ? errors[0] : undefined),
  };
}
