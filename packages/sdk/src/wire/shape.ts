/**
 * The shape of an object is an example of it, in which each field has the default that the client fills in. The type, the reader
 * and the schema of the object are made from it, so that a field stands once.
 *
 * | in the shape  | what is read                                                                 |
 * | ------------- | ---------------------------------------------------------------------------- |
 * | `''`          | a text; a number becomes one                                                 |
 * | `'word'`      | this word, whatever is sent                                                  |
 * | `302`, `null` | a number; a numeral such as `"301"` becomes one                              |
 * | `true`        | `true` or `false`                                                            |
 * | `[item]`      | a list, each item read by itself; `[]` by default; no empty text is in it    |
 * | `{ ... }`     | an object, each field read by itself; fields that are not named pass through |
 * | `undefined`   | why an item failed                                                           |
 */

/** The body of a response, each field of which may be anything. */
export type ResponseBody = Record<string, unknown>;

/** What was read, or the name of the required field that is missing. */
export type Read<T> = { data: T } | { missing: string };

/** The object that has this shape. A field that may be undefined may also be left out. */
export type Data<S> = Omit<S, OptionalName<S>> & Partial<Pick<S, OptionalName<S>>>;
type OptionalName<S> = { [Name in keyof S]: undefined extends S[Name] ? Name : never }[keyof S];

/** A field that may be absent. Of a text, an empty one counts as absent. */
export function optional<T>(shape: T): T | undefined;
export function optional(shape: unknown) {
  return { optional: shape };
}

/**
 * Reads whatever a response holds. Another service, or a newer one, may leave a field out, or send null or another type: a
 * created link must not be lost for that. What is as documented is returned without a copy, which would cost as much as parsing.
 */
export function reader<T>(shape: T, isOptional?: boolean): (value: unknown) => T;
export function reader(shape: unknown, isOptional = false): (value: unknown) => unknown {
  const fallback = isOptional ? undefined : shape;
  if (typeof shape === 'string') return (value) => shape || text(value) || fallback;
  if (typeof shape === 'boolean') {
    return (value) => (typeof value === 'boolean' ? value : fallback);
  }
  if (typeof shape === 'number' || shape === null) return (value) => number(value, fallback);
  if (Array.isArray(shape)) {
    const read = reader(shape[0]);
    const isAsDocumented = (item: unknown) => item && read(item) === item;
    return (value) => {
      if (!Array.isArray(value)) return fallback && [];
      return value.every(isAsDocumented) ? value : value.map(read).filter(Boolean);
    };
  }
  if (shape === undefined) return reason;
  const given = Object(shape);
  if ('optional' in given) return reader(given.optional, true);
  const fields: Record<string, (value: unknown) => unknown> = {};
  for (const name in given) fields[name] = reader(given[name]);
  return (value) => {
    const sent = isObject(value) ? value : {};
    let data: Record<string, unknown> = sent;
    for (const name in fields) {
      const field = fields[name]?.(sent[name]);
      if (field === sent[name]) continue;
      if (data === sent) data = { ...sent };
      data[name] = field;
    }
    return data;
  };
}

function text(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : '';
}

/** Why an item failed. Some services send an object or a list of reasons instead of a string, or `false`, 0 or an empty list for none. */
function reason(error: unknown): string | null | undefined {
  if (error === null || typeof error === 'string') return error;
  if (typeof error !== 'object') return (error !== 0 && text(error)) || undefined;
  if (Object.keys(error).length === 0) return undefined;
  try {
    return (isObject(error) && text(error['message'])) || JSON.stringify(error);
  } catch {
    // It is nested too deep to be written.
    return 'unreadable';
  }
}

/** A number, or the number of a numeral. */
export function number<T>(value: unknown, fallback: T): number | T {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof given === 'number' && Number.isFinite(given) ? given : fallback;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
