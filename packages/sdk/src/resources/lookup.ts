import * as check from '../check-options.ts';
import { ApiError, UnsupportedError } from '../errors/api-errors.ts';
import type { RequestOptions } from '../options.ts';
import {
  type LookupInput,
  type LookupResult,
  MAX_LOOKUP_ENTRIES,
  readLookup,
} from '../wire/lookup.ts';
import { ROUTES } from '../wire/routes.ts';
import type { ResponseBody } from '../wire/shape.ts';
import type { ResourceParts } from './jobs.ts';

/** A target that is looked up: a URL as it was sent when its links were created, or a URL with a domain. */
export type LookupEntry = string | URL | LookupInput;

/** What `links.lookup` takes: targets, or codes. A list, a generator, a stream or any other (async) iterable. */
export type LookupSource =
  | Iterable<LookupEntry>
  | AsyncIterable<LookupEntry>
  | { codes: Iterable<string> | AsyncIterable<string> };

/** Largest body of one request, in bytes: well below the 16 MiB that services take. */
const MAX_LOOKUP_BYTES = 14 * 1024 * 1024;

const encoder = /* @__PURE__ */ new TextEncoder();

/** Looks all entries up, in as many requests as they need, one after the other. */
export async function lookup(
  transport: ResourceParts['transport'],
  source: LookupSource,
  options: RequestOptions,
): Promise<LookupResult[]> {
  const [name, entries, toJson] =
    typeof source === 'object' && source !== null && 'codes' in source
      ? (['codes', source.codes, codeJson] as const)
      : (['links', source, targetJson] as const);
  check.iterable(name === 'links' ? 'entries' : name, entries);
  const results: LookupResult[] = [];
  const waiting: string[] = [];
  let bytes = 0;
  const flush = async () => {
    results.push(...(await askAll(transport, name, waiting.splice(0), options)));
    bytes = 0;
  };
  for await (const entry of entries) {
    options.signal?.throwIfAborted();
    const json = toJson(entry, results.length + waiting.length);
    const size = encoder.encode(json).length + 1;
    if (waiting.length === MAX_LOOKUP_ENTRIES || bytes + size > MAX_LOOKUP_BYTES) await flush();
    waiting.push(json);
    bytes += size;
  }
  if (waiting.length > 0) await flush();
  return results;
}

/** Looks up what fits into one request. Entries with `more` but no links didn't fit into the response, and are asked again. */
async function askAll(
  transport: ResourceParts['transport'],
  name: 'links' | 'codes',
  jsons: readonly string[],
  options: RequestOptions,
): Promise<LookupResult[]> {
  const request = { method: 'POST', path: ROUTES.linksLookup, createsNothing: true } as const;
  const body = `{"${name}":[${jsons.join()}]}`;
  const read = (value: ResponseBody) => readLookup(value, jsons.length);
  const asked = transport.request({ ...request, body, read, options });
  const { data } = await asked.catch((error: unknown) => {
    // A look-up that finds nothing is a 200: these are statuses of a service without the endpoint.
    const isUnsupported = ApiError.isInstance(error) && [404, 405, 501].includes(error.status);
    throw isUnsupported ? new UnsupportedError('look-up of links', error) : error;
  });
  const { results } = data;
  const left = [...results.keys()].filter((n) => results[n]?.more && !results[n].links.length);
  if (left.length === 0 || left.length === jsons.length) return results;
  const again = left.map((n) => jsons[n] ?? '');
  const found = await askAll(transport, name, again, options);
  for (const [n, result] of found.entries()) results[left[n] ?? 0] = result;
  return results;
}

function codeJson(code: unknown, index: number): string {
  if (typeof code === 'string') return JSON.stringify(code);
  return check.refuse(`codes[${index}]`, `the code of a link, not ${check.show(code)}`);
}

function targetJson(entry: unknown, index: number): string {
  const fields: { [Name in keyof LookupInput]?: unknown } = Object(entry);
  const { target_url = entry, domain_id, after } = fields;
  if (typeof target_url === 'string' || target_url instanceof URL) {
    const given = { target_url, domain_id: domain_id ?? undefined, after: after ?? undefined };
    return JSON.stringify(given);
  }
  const expected = `a target, such as 'https://example.com' or { target_url }, not ${check.show(entry)}`;
  return check.refuse(`entries[${index}]`, expected);
}
