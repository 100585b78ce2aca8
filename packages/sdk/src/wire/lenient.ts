/** What was read, or the name of the required field that is missing; empty for the response as a whole. */
export type Read<T> = { data: T } | { missing: string };

/**
 * Reads a field of a response, whatever it holds. Another service, or a newer one, may leave a field out, or send null or
 * another type: a created link must not be lost for that, so a field that isn't required has a default instead of an error.
 */
export type Reader<T> = (value: unknown) => T;

type Fields = Readonly<Record<string, Reader<unknown>>>;
type Values<F extends Fields> = { [Name in keyof F]: ReturnType<F[Name]> };
type OptionalName<F extends Fields> = {
  [Name in keyof F]: undefined extends ReturnType<F[Name]> ? Name : never;
}[keyof F];

/** The object that these fields read. A field that may be undefined may also be left out. */
export type Data<F extends Fields> = Values<Omit<F, OptionalName<F>>> &
  Partial<Values<Pick<F, OptionalName<F>>>>;

/**
 * An object with these fields, each read by itself. Its other fields are kept; what is no object has none. What is as
 * documented is returned as it is, without a copy.
 */
export function object<T extends object>(
  fields: {
    readonly [Name in keyof T]-?: Reader<T[Name]>;
  },
): Reader<T> {
  return (value) => {
    const sent = (isObject(value) ? value : {}) as { [Name in keyof T]: unknown };
    let data = sent;
    for (const name in fields) {
      const given = data[name];
      const field = fields[name](given);
      if (field === given) continue;
      if (data === sent) data = { ...sent };
      data[name] = field;
    }
    return data as T;
  };
}

/** A list of objects. Anything else is an empty list, and an item that is no object is left out. */
export function list<T>(read: Reader<T>): Reader<T[]> {
  return (value) => listOf(value).filter(isObject).map(read);
}

/** A list whose items keep their positions. One of thousands that is as documented is not copied: that costs as much as to parse it. */
export function rows<T>(read: Reader<T>): Reader<T[]> {
  const isAsDocumented = (item: unknown): item is T => read(item) === item;
  return (value) => {
    const items = listOf(value);
    return items.every(isAsDocumented) ? items : items.map(read);
  };
}

/** A list that older servers don't send: undefined where there is none. */
export function optional<T>(read: Reader<T[]>): Reader<T[] | undefined> {
  return (value) => (Array.isArray(value) ? read(value) : undefined);
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
export const text: Reader<string> = (value) => {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : '';
};

/** A string that is not empty, or undefined. */
export const optionalText: Reader<string | undefined> = (value) => text(value) || undefined;

/** A list of strings. Anything else is an empty list, and an item that is not a string is left out. */
export const texts: Reader<string[]> = (value) => listOf(value).map(text).filter(Boolean);

/** A number. A numeral such as `"302"` becomes one; anything else is `fallback`. */
export function number<T>(fallback: T): Reader<number | T> {
  return (value) => {
    const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    return typeof given === 'number' && Number.isFinite(given) ? given : fallback;
  };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
