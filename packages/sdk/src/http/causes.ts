import type { Redact } from './redact.ts';

/** How far a chain of causes is followed; a loop ends there too. */
const MAX_CAUSES = 5;

/** The fields that matter of whatever was thrown. */
export interface CauseParts {
  name: string;
  message: string;
  /** Such as `ECONNREFUSED`. */
  code: string | undefined;
  /** Such as `connect`, in Node and Bun. */
  syscall: string | undefined;
}

/**
 * What was thrown and its causes, the innermost last. Of several failed addresses of one host (`AggregateError`), the first
 * is the cause.
 */
export function causeChain(thrown: unknown): CauseParts[] {
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

/** Why it failed, in the words of the innermost cause that has any: `fetch failed` says nothing, what caused it does. */
export function innermostMessage(thrown: unknown): string {
  return causeChain(thrown).reduce((outer, { message, code }) => message || code || outer, '');
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
