import * as z from 'zod/mini';

/**
 * How responses are read. Another service, or a newer one, may leave a field out, or send null or another type: a
 * created link must not be lost for that, so each field that isn't required has a default instead of an error.
 */

/** What was read, or the name of the required field that is missing; empty for the response as a whole. */
export type Read<T> = { data: T } | { missing: string };

/** The part of a zod schema that {@link readWith} uses. */
interface Schema<T> {
  safeParse(
    value: unknown,
  ):
    | { success: true; data: T }
    | { success: false; error: { issues: readonly { path: readonly PropertyKey[] }[] } };
}

/** Reads a response by a schema. Fields that the schema doesn't know pass through. */
export function readWith<T>(schema: Schema<T>, value: unknown): Read<T> {
  const result = schema.safeParse(value);
  if (result.success) return { data: result.data };
  return { missing: (result.error.issues[0]?.path ?? []).map(String).join('.') };
}

/** A text. A number becomes one; anything else is `''`. */
/* @__NO_SIDE_EFFECTS__ */
export function text() {
  return z.catch(z.pipe(z.transform(numberToText), z.string()), '');
}

/** A text that must be there and not be empty. A number becomes one. */
/* @__NO_SIDE_EFFECTS__ */
export function requiredText() {
  return z.pipe(z.transform(numberToText), z.string().check(z.minLength(1)));
}

/** A number. A numeral such as `"302"` becomes one; anything else is `fallback`. */
/* @__NO_SIDE_EFFECTS__ */
export function number(fallback: number) {
  return z.catch(z.pipe(z.transform(numeralToNumber), z.number()), fallback);
}

/** A limit: a number, or null for none. Anything else is null. */
/* @__NO_SIDE_EFFECTS__ */
export function limit() {
  return z.catch(z.nullable(z.number()), null);
}

/** `true` or `false`. Anything else is `fallback`. */
/* @__NO_SIDE_EFFECTS__ */
export function flag(fallback: boolean) {
  return z.catch(z.boolean(), fallback);
}

/** A list of texts. Anything else is an empty list, and an item that is no text is left out. */
/* @__NO_SIDE_EFFECTS__ */
export function texts() {
  return z.transform((value: unknown) =>
    Array.isArray(value) ? value.map(numberToText).filter((item) => typeof item === 'string') : [],
  );
}

/** A list, each item read by the schema. Anything else is an empty list, and an item that is no object is left out. */
/* @__NO_SIDE_EFFECTS__ */
export function listOf<T>(schema: Schema<T>) {
  return z.transform((value: unknown): T[] =>
    (Array.isArray(value) ? value : []).flatMap((item) => {
      const result = schema.safeParse(item);
      return result.success ? [result.data] : [];
    }),
  );
}

/** An object that may be missing: then each of its fields has its default. */
/* @__NO_SIDE_EFFECTS__ */
export function part<T>(schema: Schema<T>) {
  return z.transform((value: unknown): T => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const empty = schema.safeParse({});
    if (empty.success) return empty.data;
    throw new TypeError('a part has a default for each of its fields');
  });
}

function numberToText(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value;
}

function numeralToNumber(value: unknown): unknown {
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
}
