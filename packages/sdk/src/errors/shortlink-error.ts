/** What an error of class `E` is built from: its fields, and its cause. */
export type ErrorFields<E, Required extends keyof E, Optional extends keyof E = never> = {
  [Name in Required]: E[Name];
} & { [Name in Optional]?: E[Name] } & { cause?: unknown };

/** Where an error names its classes. Copies of this package share the symbol, and completions don't show it. */
const KINDS = /* @__PURE__ */ Symbol.for('@shortlink/sdk.kinds');

/** A class of errors, as `isInstance` is called on it. */
type ErrorClass<E extends ShortlinkError> = { readonly kind: string } & (abstract new (
  ...args: never[]
) => E);

/**
 * Base of every error of this package. An abort rejects with the signal's own reason, and what a source or a callback of the caller
 * throws comes as it is. No error holds the API key: whatever came from the network is redacted when the error is built.
 */
export class ShortlinkError extends Error {
  /** Name of the class, written out, so that it survives minifiers. */
  static readonly kind: string = 'ShortlinkError';

  /** Name of the class, such as `RateLimitError`. */
  override readonly name: string;

  /**
   * Set where the error ended `jobs.wait`: the identifier of the accepted job, which may have created links. Wait for it
   * again, instead of sending its links again.
   */
  declare readonly jobId: string | undefined;

  /** @param fields the fields of the error, and its `cause` */
  constructor(message: string, { cause, ...fields }: Readonly<Record<string, unknown>> = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.kind;
    const kinds: string[] = [];
    let each: { readonly kind?: string } = new.target;
    for (; each.kind !== undefined; each = Object.getPrototypeOf(each)) kinds.push(each.kind);
    // Not declared: a symbol in the type would make the errors of two copies of this package different types.
    Object.defineProperty(this, KINDS, { value: kinds });
    Object.assign(this, fields);
  }

  /**
   * Whether a value is an error of this class. Like `instanceof`, and also true for an error of another copy of this
   * package. Call it on the class: `RateLimitError.isInstance(error)`.
   */
  static isInstance<E extends ShortlinkError>(this: ErrorClass<E>, error: unknown): error is E {
    const kinds: unknown = Reflect.get(Object(error), KINDS);
    // biome-ignore lint/complexity/noThisInStatic: the class that it is called on, which is mostly a subclass
    return Array.isArray(kinds) && kinds.includes(this.kind);
  }

  /** What `JSON.stringify` writes: the fields of the error, with its message and the message of its cause. */
  toJSON(): object {
    const { name, message, cause } = this;
    const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : undefined;
    return { ...this, name, message, cause: reason };
  }
}
