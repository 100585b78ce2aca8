/** What was read, or the name of the required field that is missing; empty for the response as a whole. */
export type Read<T> = { data: T } | { missing: string };

/**
 * Reads a field of a response, whatever it holds. Another service, or a newer one, may leave a field out, or send null or
 * another type: a created link must not be lost for that, so a field that isn't required has a default instead of an error.
 */
export type Reader<T> = (value: unknown) => T;

/** An object with these fields, each read by itself. Its other fields are kept; what is no object has none. */
export function object<T extends object>(
  readers: {
    readonly [Name in keyof T]-?: Reader<T[Name]>;
  },
): Reader<T> {
  return (value) => {
    const data = (isObject(value) ? { ...value } : {}) as { [Name in keyof T]: unknown };
    for (const name in readers) data[name] = readers[name](data[name]);
    return data as T;
  };
}

/** A list of objects. Anything else is an empty list, and an item that is no object is left out. */
export function list<T>(read: Reader<T>): Reader<T[]> {
  return (value) => listOf(value).flatMap((item) => (isObject(item) ? [read(item)] : []));
}

/** A field that older servers don't send: then it is undefined. */
export function optional<T>(read: Reader<T>): Reader<T | undefined> {
  return (value) => (value === undefined ? undefined : read(value));
}

/** The field is this word, whatever is sent. */
export function word<W extends string>(literal: W): Reader<W> {
  return () => literal;
}

/** `true` or `false`. Anything else is `fallback`. */
export function flag<T>(fallback: T): Reader<boolean | T> {
  return (value) => (typeof value === 'boolean' ? value : fallback);
}

/** A string. A number becomes one; anything else is `''`. */
export function text(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : '';
}

/** A string that is not empty, or undefined. */
export const optionalText = (value: unknown) => text(value) || undefined;

/** A list of strings. Anything else is an empty list, and an item that is not a string is left out. */
export const texts = (value: unknown) => listOf(value).map(text).filter(Boolean);

/** A number. A numeral such as `"302"` becomes one; anything else is `fallback`. */
export function numberOf<T>(value: unknown, fallback: T): number | T {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof given === 'number' && Number.isFinite(given) ? given : fallback;
}

/** A number that is 0 where it can't be read. */
export const count = (value: unknown) => numberOf(value, 0);

/** A number, or undefined where it can't be read. */
export const optionalNumber = (value: unknown) => numberOf(value, undefined);

/** A number that is `null`, which means unlimited, where it can't be read. */
export const limit = (value: unknown) => numberOf(value, null);

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
