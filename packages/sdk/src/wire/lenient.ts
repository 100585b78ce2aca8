/**
 * How responses are read. Another service, or a newer one, may leave a field out, or send null or another type: a
 * created link must not be lost for that, so each field that isn't required has a default instead of an error.
 *
 * The schemas of this folder describe what the reference server sends. The client doesn't run them: what it reads here
 * always satisfies them, which the tests show, and a page is spared a fifth of the client's size.
 */

/** What was read, or the name of the required field that is missing; empty for the response as a whole. */
export type Read<T> = { data: T } | { missing: string };

export interface Fields {
  readonly [name: string]: unknown;
}

/** The fields of an object; undefined where the value is none. */
export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { ...value }
    : undefined;
}

type Readers = Readonly<Record<string, (value: unknown) => unknown>>;

/** The named fields, each read by itself, and the other fields as they are. */
export function readFields<R extends Readers>(
  fields: Fields,
  readers: R,
): { [Name in keyof R]: ReturnType<R[Name]> } {
  const read = Object.entries(readers).map(([name, reader]) => [name, reader(fields[name])]);
  return Object.assign({ ...fields }, Object.fromEntries(read));
}

/** A string. A number becomes one; anything else is `''`. */
export function text(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : '';
}

/** A string that is not empty, or undefined. */
export const optionalText = (value: unknown): string | undefined => text(value) || undefined;

/** A number. A numeral such as `"302"` becomes one; anything else is `fallback`. */
export function number<T>(value: unknown, fallback: T): number | T {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof given === 'number' && Number.isFinite(given) ? given : fallback;
}

/** A number that is 0 where it can't be read. */
export const count = (value: unknown): number => number(value, 0);

/** A number, or undefined where it can't be read. */
export const optionalNumber = (value: unknown): number | undefined => number(value, undefined);

/** A number that is `null`, which means unlimited, where it can't be read. */
export const limit = (value: unknown): number | null => number(value, null);

/** `true` or `false`. Anything else is `fallback`. */
export function flag(value: unknown, fallback: boolean): boolean {
  return typeof value === 'boolean' ? value : fallback;
}

/** A list of strings. Anything else is an empty list, and an item that is not a string is left out. */
export function texts(value: unknown): string[] {
  return listOf(value)
    .map(text)
    .filter((item) => item !== '');
}

/** A list of objects, each read by itself. Anything else is an empty list, and an item that is no object is left out. */
export function each<T>(value: unknown, read: (fields: Fields) => T): T[] {
  return listOf(value).flatMap((item) => {
    const fields = fieldsOf(item);
    return fields === undefined ? [] : [read(fields)];
  });
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
