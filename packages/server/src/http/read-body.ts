import { MAX_BODY_BYTES } from '@shortlink/sdk/wire';
import type { HonoRequest } from 'hono';
import {
  invalidRequest,
  Problem,
  payloadTooLarge,
  unsupportedMediaType,
} from '../domain/problem.ts';
import { isObject } from '../domain/validate-link.ts';

/** `application/json`, with parameters such as a charset. */
const JSON_TYPE = /^application\/json[\t ]*(?:;|$)/i;

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** A request body: its bytes, and the object they spell. */
export interface JsonBody {
  bytes: Uint8Array;
  value: Record<string, unknown>;
}

/**
 * Reads a JSON object from the request. 415 for another content type, 413 above 16 MiB (also when the body comes in
 * chunks without a length; reading stops there), 400 for anything that is no JSON object in UTF-8 (RFC 8259).
 */
export async function readJson(request: HonoRequest): Promise<JsonBody> {
  if (!JSON_TYPE.test(request.header('Content-Type') ?? '')) throw unsupportedMediaType();
  const bytes = await readBytes(request);
  if (bytes.length === 0) throw invalidRequest('The request body is empty.');
  const value = parseJson(bytes);
  if (!isObject(value)) throw invalidRequest('The request body must be a JSON object.');
  return { bytes, value };
}

async function readBytes(request: HonoRequest): Promise<Uint8Array> {
  const length = Number(request.header('Content-Length') ?? Number.NaN);
  if (length > MAX_BODY_BYTES) throw payloadTooLarge();
  try {
    // The HTTP parser enforces a stated length, so such a body can be read in one go.
    if (Number.isInteger(length)) return new Uint8Array(await request.arrayBuffer());
    return await readStream(request.raw.body);
  } catch (error) {
    if (error instanceof Problem) throw error;
    // The client went away in mid-body: nobody reads this answer, and nothing went wrong on our side.
    throw invalidRequest('The request body could not be read.');
  }
}

async function readStream(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop by an exception cancels the stream.
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw payloadTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = UTF_8.decode(bytes);
  } catch {
    throw invalidRequest('The request body is not valid UTF-8.');
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold private URLs.
    throw invalidRequest('The request body is not valid JSON.');
  }
}
