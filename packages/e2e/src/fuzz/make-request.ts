import fc from 'fast-check';
import { anyCharacter, anyUrl } from '../../../tools/test/any-text.ts';
import type { ApiDescription, Operation, Schema } from './api-description.ts';

/** A random request. Keys and ids of earlier responses, which exist only during the run, are named by placeholders. */
export interface DrawnRequest {
  /** Which operation it is meant for. */
  operation: string;
  method: string;
  /** Values of the path's parameters. `earlier` is a value from an earlier response. */
  path: { kind: 'random'; text: string } | { kind: 'earlier'; pick: number };
  key: KeyKind;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
}

/** Whose API key a request carries. */
export const KEY_KINDS = [
  'good',
  'reading',
  'rate limited',
  'plan limited',
  'wrong',
  'none',
] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** The short name of an operation in requests and reports. A counterexample with the whole operation would fill a screen. */
export function nameOf({ method, path }: Pick<Operation, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

/** Generates requests for one operation: most are nearly valid, some are nonsense. */
export function requestsFor(api: ApiDescription, operation: Operation): fc.Arbitrary<DrawnRequest> {
  return fc.record({
    operation: fc.constant(nameOf(operation)),
    method: fc.oneof(
      { arbitrary: fc.constant(operation.method), weight: 20 },
      {
        arbitrary: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
        weight: 1,
      },
    ),
    path: fc.oneof(
      fc.record({ kind: fc.constant('earlier' as const), pick: fc.nat() }),
      fc.record({ kind: fc.constant('random' as const), text: pathText }),
    ),
    key: fc.oneof(
      { arbitrary: fc.constant('good' as const), weight: 6 },
      { arbitrary: fc.constantFrom(...KEY_KINDS), weight: 3 },
    ),
    headers: headers(operation),
    body: operation.body === undefined ? fc.constant(undefined) : body(api, operation.body),
  });
}

const pathText = fc.oneof(
  fc.uuid(),
  fc.string({ minLength: 1, maxLength: 40 }).map(encodeURIComponent),
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .map((text) => encodeURIComponent(text)),
  fc.stringMatching(/^%[0-9a-f]{2}[\w%.~-]{0,10}$/),
  fc.constantFrom('%00', 'a%00b', '%ed%a0%80', '%c0%80', '..%2f..', 'x'.repeat(5_000)),
);

/** Printable characters that a header may have. */
const headerText = fc.string({ minLength: 1, maxLength: 30 }).map((text) => text.trim() || 'x');

function headers(operation: Operation): fc.Arbitrary<Record<string, string>> {
  const wanted = operation.parameters.filter((parameter) => parameter.in === 'header');
  const own = Object.fromEntries(
    wanted.map(({ name }) => [name, fc.oneof(headerText, fc.constantFrom('k1', 'k2', '"k3"'))]),
  );
  const type = fc.oneof(
    { arbitrary: fc.constant('application/json'), weight: 12 },
    {
      arbitrary: fc.constantFrom(
        'application/json; charset=utf-8',
        'text/plain',
        'application/x-www-form-urlencoded',
      ),
      weight: 1,
    },
    { arbitrary: headerText, weight: 1 },
  );
  const common = { 'X-Request-Id': headerText, Accept: headerText, Origin: headerText };
  return fc
    .tuple(
      operation.body === undefined ? fc.constant({}) : fc.record({ 'Content-Type': type }),
      fc.oneof(
        { arbitrary: fc.constant({}), weight: 3 },
        { arbitrary: fc.record({ ...common, ...own }, { requiredKeys: [] }), weight: 1 },
      ),
    )
    .map(([required, optional]) => ({ ...optional, ...required }));
}

function body(api: ApiDescription, schema: Schema): fc.Arbitrary<string | Uint8Array> {
  const fitting = fromSchema(api, schema);
  return fc.oneof(
    { arbitrary: fitting.map(toText), weight: 12 },
    { arbitrary: withOneChange(fitting, fc.jsonValue()).map(toText), weight: 6 },
    { arbitrary: withOneChange(fitting, awkwardValue).map(toText), weight: 4 },
    { arbitrary: withHugeField, weight: 1 },
    { arbitrary: fc.json(), weight: 2 },
    { arbitrary: fc.string(), weight: 1 },
    { arbitrary: fc.uint8Array({ maxLength: 60 }), weight: 1 },
  );
}

const toText = (value: unknown) => JSON.stringify(value);

/** Text that is hard for databases, encoders and limits: NUL, halves of surrogate pairs, bidirectional marks, great length. */
const awkwardText = fc.oneof(
  fc.constantFrom('\0', 'a\0b', '\ud800', '\udfff\ud800', '\ufeff', '\u202eabc', '\u0085', ''),
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 20 }),
  fc
    .tuple(fc.constantFrom('x', 'ü', '\u{1f600}', '\0'), fc.constantFrom(64, 256, 2_048, 70_000))
    .map(([unit, length]) => unit.repeat(length)),
);

/** Values with about 16 levels of nesting, which is the limit. */
const deepValue = fc
  .tuple(fc.integer({ min: 1, max: 40 }), fc.boolean())
  .map(([depth, isArray]) =>
    Array.from({ length: depth }).reduce<unknown>(
      (inner) => (isArray ? [inner] : { x: inner }),
      null,
    ),
  );

const awkwardValue = fc.oneof(awkwardText, fc.array(awkwardText, { maxLength: 30 }), deepValue);

/** A body near the limits of size, depth and number of members, in a field that no endpoint reads. */
const withHugeField = fc
  .tuple(fc.constantFrom('[', '{},', '"', ' ', '1,'), fc.constantFrom(1_000, 100_000, 300_000))
  .map(
    ([unit, times]) =>
      `{"target_url":"https://example.com/","links":[{"target_url":"https://example.com/"}],"x":[${unit.repeat(times)}`,
  );

/** One property, at the top or in the first entry of an array, replaced by one of `others`. */
function withOneChange(
  fitting: fc.Arbitrary<unknown>,
  others: fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  return fc.tuple(fitting, fc.nat(), others).map(([value, pick, other]) => {
    const list = Object(value).links;
    const entry = Array.isArray(list) ? list[0] : value;
    // The entry of a look-up may be a text.
    const target = Object(entry) === entry ? entry : value;
    const names = Object(target) === target ? Object.keys(target) : [];
    if (names.length === 0) return other;
    target[names[pick % names.length] ?? ''] = other;
    return value;
  });
}

/** A placeholder in bodies for the id of the account's own domain, which exists only during the run. */
export const OWN_DOMAIN = '{own domain}';

/**
 * Values for a field of this name that look valid to the schema and that the server must judge. Most of them are valid, since
 * a batch of four links with all their fields creates nothing if one of twenty values is rejected.
 */
const BY_NAME: Record<string, fc.Arbitrary<unknown>> = {
  target_url: fc.oneof(
    { arbitrary: anyUrl, weight: 40 },
    {
      arbitrary: fc
        .string({ unit: anyCharacter, maxLength: 30 })
        .map((rest) => `https://example.com/${rest}`),
      weight: 2,
    },
    { arbitrary: fc.string(), weight: 1 },
    {
      arbitrary: fc
        .tuple(
          fc.constantFrom(
            '::ffff:127.0.0.1',
            '::ffff:7f00:1',
            '::127.0.0.1',
            '64:ff9b::7f00:1',
            '::1',
          ),
          fc.constantFrom('', ':1', ':99999'),
        )
        .map(([address, port]) => `http://[${address}]${port}/`),
      weight: 1,
    },
    {
      arbitrary: fc
        .tuple(fc.constantFrom('x', 'ü', '€', '%00'), fc.integer({ min: 600, max: 2_100 }))
        .map(([unit, times]) => `https://example.com/${unit.repeat(times)}`),
      weight: 1,
    },
  ),
  domain_id: fc.oneof(
    { arbitrary: fc.constant(OWN_DOMAIN), weight: 12 },
    { arbitrary: fc.oneof(fc.string(), awkwardText), weight: 1 },
  ),
};

/** A batch of more entries becomes a job. */
const SYNC_ENTRIES = 100;

function fromSchema(api: ApiDescription, given: Schema): fc.Arbitrary<unknown> {
  const schema = api.follow(given);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'object': {
      const fields = Object.entries(schema.properties ?? {}).map(
        ([name, property]) => [name, BY_NAME[name] ?? fromSchema(api, property)] as const,
      );
      return fc.record(Object.fromEntries(fields), { requiredKeys: schema.required ?? [] });
    }
    case 'array': {
      const items = fromSchema(api, schema.items ?? {});
      const few = fc.array(items, { minLength: schema.minItems ?? 0, maxLength: 4 });
      if ((schema.maxItems ?? 0) <= SYNC_ENTRIES) return few;
      const many = items.map((item) => Array.from({ length: SYNC_ENTRIES + 1 }, () => item));
      return fc.oneof({ arbitrary: few, weight: 20 }, { arbitrary: many, weight: 1 });
    }
    case 'string': {
      const length = {
        minLength: schema.minLength ?? 0,
        maxLength: Math.min(schema.maxLength ?? 40, 300),
      };
      return fc.oneof(
        { arbitrary: fc.string(length), weight: 30 },
        { arbitrary: fc.string({ ...length, unit: anyCharacter }), weight: 2 },
        // The two databases treat this value differently.
        { arbitrary: fc.string(length).map((text) => `${text.slice(1)}\0`), weight: 1 },
      );
    }
    case 'integer':
    case 'number':
      return fc.integer();
    default:
      return fc.jsonValue();
  }
}
