/** What was read, or the name of the required field that is missing; empty for the response as a whole. */
export type Read<T> = { data: T } | { missing: string };

/**
 * How responses are read. Another service, or a newer one, may leave a field out, or send null or another type: a
 * created link must not be lost for that, so each field that isn't required has a default instead of an error.
 *
 * Each shape of the protocol stands in two forms: its interface, for people, and its fields, for programs. A field says how
 * it is read and what the reference server sends, and `schemas.ts` makes zod's schemas from the latter. The client doesn't
 * run these schemas: what is read here always satisfies them, which the tests show, and a page is spared a fifth of the
 * client's size.
 */
export interface Field<T> extends Shaped {
  /** Reads what any service sends. */
  readonly read: (value: unknown) => T;
}

/** What the reference server sends as a field. */
export type Shape =
  | 'string'
  | 'number'
  | 'boolean'
  | { readonly literal: string }
  | { readonly optional: Shaped }
  | { readonly nullable: Shaped }
  | { readonly list: Shaped }
  | { readonly object: Readonly<Record<string, Shaped>> };

/** What has a shape: a {@link Field}, mostly. */
export interface Shaped {
  readonly shape: Shape;
}

/** An object with these fields, each read by itself. Its other fields are kept; what is no object has none. */
export function object<T extends object>(
  fields: {
    readonly [Name in keyof T]-?: Field<T[Name]>;
  },
): Field<T> {
  const readers: Readonly<Record<string, Field<unknown>>> = fields;
  const read = (value: unknown): T => {
    const data: Record<string, unknown> = isObject(value) ? { ...value } : {};
    for (const name in readers) data[name] = readers[name]?.read(data[name]);
    return data as T;
  };
  return { shape: { object: readers }, read };
}

/** A list of objects. Anything else is an empty list, and an item that is no object is left out. */
export function list<T>(item: Field<T>): Field<T[]> {
  return { shape: { list: item }, read: (value) => listOf(value).filter(isObject).map(item.read) };
}

/** A field that older servers don't send: then it is undefined. */
export function optional<T>(field: Field<T>): Field<T | undefined> {
  const read = (value: unknown) => (value === undefined ? undefined : field.read(value));
  return { shape: { optional: field }, read };
}

/** The field is this word, whatever is sent. */
export function word<W extends string>(literal: W): Field<W> {
  return { shape: { literal }, read: () => literal };
}

/** `true` or `false`. Anything else is `fallback`. */
export function flag(fallback: boolean): Field<boolean> {
  return {
    shape: 'boolean',
    read: (value) => (typeof value === 'boolean' ? value : fallback),
  };
}

/** A string. A number becomes one; anything else is `''`. */
export const text: Field<string> = { shape: 'string', read: textOf };

/** A string that is not empty, or undefined. */
export const optionalText: Field<string | undefined> = {
  shape: { optional: text },
  read: (value) => textOf(value) || undefined,
};

/** A list of strings. Anything else is an empty list, and an item that is not a string is left out. */
export const texts: Field<string[]> = {
  shape: { list: text },
  read: (value) =>
    listOf(value)
      .map(textOf)
      .filter((item) => item !== ''),
};

/** A number that is 0 where it can't be read. */
export const count: Field<number> = { shape: 'number', read: (value) => numberOf(value, 0) };

/** A number, or undefined where it can't be read. */
export const optionalNumber: Field<number | undefined> = {
  shape: { optional: count },
  read: (value) => numberOf(value, undefined),
};

/** A number that is `null`, which means unlimited, where it can't be read. */
export const limit: Field<number | null> = {
  shape: { nullable: count },
  read: (value) => numberOf(value, null),
};

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A string. A number becomes one; anything else is `''`. */
export function textOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : '';
}

/** A number. A numeral such as `"302"` becomes one; anything else is `fallback`. */
export function numberOf<T>(value: unknown, fallback: T): number | T {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof given === 'number' && Number.isFinite(given) ? given : fallback;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
