import { hash } from 'node:crypto';
import * as wire from '@shortlink/sdk/wire';
import { chunksOf } from '../domain/chunks.ts';
import { invalidRequest, Problem } from '../domain/problem.ts';
import type { TargetRules } from '../domain/targets.ts';
import * as validation from '../domain/validate-link.ts';
import { targetNumber, toJobInput } from '../store/links.ts';
import type { JobInput } from '../store/store.ts';

/** The largest body with one link: it holds the longest allowed link ten times, even if every character is escaped. */
const MAX_LINK_BODY_BYTES = 256 * 1024;

/** Bytes of a link in a batch, at most: 2,048 characters of the target, 255 of the title and 20 tags of 64, each escaped, and their names. */
const MAX_ENTRY_BYTES = 24 * 1024;

/** The largest body of each endpoint that the plan can need. */
export const MAX_BYTES: { readonly [K in BodyKind]: (limits: wire.PlanLimits) => number } = {
  link: () => MAX_LINK_BODY_BYTES,
  batch: ({ batch_size }) => {
    const links = batch_size ?? Number.POSITIVE_INFINITY;
    return Math.min(wire.MAX_BODY_BYTES, MAX_LINK_BODY_BYTES + links * MAX_ENTRY_BYTES);
  },
  lookup: () => wire.MAX_BODY_BYTES,
};

const READ_TOGETHER = 250;

/** An entry of a look-up with its position in the body, and the number that it is read by. */
export type PlacedEntry = validation.LookupEntry & { at: number; number: number };

/** What the body of each endpoint comes to, in a form that is cheap to post between threads. */
export interface BodyInputs {
  link: validation.ValidLink;
  /** More links than are created at once are the input of a job. */
  batch: readonly validation.ValidLink[] | JobInput;
  /** JSON arrays of {@link PlacedEntry}, in the order of their targets' numbers: neighbours in the index are read together. */
  lookup: readonly string[];
}

export type BodyKind = keyof BodyInputs;

const CHECKS: {
  readonly [K in BodyKind]: (
    body: validation.JsonObject,
    rules: validation.LinkRules,
    accountId: string,
  ) => BodyInputs[K];
} = {
  link: (body, rules) => validation.validateLink(body, rules),
  batch: (body, rules) => {
    const links = validation.validateBatch(body, rules);
    return links.length <= wire.MAX_SYNC_BATCH_LINKS ? links : toJobInput(links);
  },
  lookup: (body, rules, accountId) => toChunks(validation.validateLookup(body, rules), accountId),
};

function toChunks(entries: readonly validation.LookupEntry[], account_id: string): string[] {
  const placed = entries.map((entry, at): PlacedEntry => {
    const number = 'code' in entry ? at : targetNumber({ ...entry, account_id });
    return { ...entry, number, at };
  });
  placed.sort((a, b) => a.number - b.number);
  return chunksOf(placed, READ_TOGETHER).map((some) => JSON.stringify(some));
}

export interface BodyToCheck<K extends BodyKind = BodyKind> {
  kind: K;
  bytes: Uint8Array<ArrayBuffer>;
  accountId: string;
  /** The request's path, if it has an idempotency key: the same key on another endpoint is another request. */
  keyedPath: string | undefined;
  /** Ids of the custom domains of the account. @default nobody has asked yet */
  ownedDomains?: ReadonlySet<string>;
}

/** What a body asks for, or the 400 that it gets. `fingerprint` tells it from other bodies under the same idempotency key. */
export type CheckedBody<K extends BodyKind = BodyKind> = { fingerprint?: string | undefined } & (
  | { input: BodyInputs[K] }
  | { problem: wire.ErrorBody }
);

/** A body that names custom domains comes back, to be checked again with those of the account: its bytes take less memory than what was parsed. */
export function checkBody<K extends BodyKind>(
  { kind, bytes, accountId, keyedPath, ownedDomains }: BodyToCheck<K>,
  rules: TargetRules,
): CheckedBody<K> | Pick<BodyToCheck, 'bytes'> {
  let fingerprint: string | undefined;
  try {
    const body = parse(bytes);
    if (ownedDomains === undefined && validation.namesDomain(body)) return { bytes };
    if (keyedPath !== undefined) {
      fingerprint = hash('sha256', Buffer.concat([Buffer.from(`${keyedPath}\n`), bytes]));
    }
    const known = { ...rules, ownedDomains: ownedDomains ?? new Set() };
    const input = CHECKS[kind](body, known, accountId);
    return { fingerprint, input };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { fingerprint, problem: error.body };
  }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

function parse(bytes: Uint8Array): validation.JsonObject {
  if (bytes.length === 0) throw invalidRequest('The request body is empty.');
  checkStructure(bytes);
  let text: string;
  try {
    text = UTF_8.decode(bytes);
  } catch {
    throw invalidRequest('The request body is not valid UTF-8.');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold private URLs.
    throw invalidRequest('The request body is not valid JSON.');
  }
  if (!validation.isObject(value)) throw invalidRequest('The request body must be a JSON object.');
  return value;
}

/** A batch is nested three deep; no request that this service takes comes near the bound. */
export const MAX_DEPTH = 16;

/** Elements of arrays and fields of objects: a batch of 10,000 links with every field and 20 tags each has 270,000. */
export const MAX_MEMBERS = 500_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** 400 for JSON with too many levels or members: `JSON.parse` takes 60 bytes for each of `[[[[`, and where it finds no space the process ends, also in a thread. */
export function checkStructure(bytes: Uint8Array): void {
  let depth = 0;
  let members = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (inString) {
      // What is escaped ends no string.
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === COMMA) members += 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      members += 1;
      if (depth > MAX_DEPTH) {
        throw invalidRequest(`The request body is nested deeper than ${MAX_DEPTH} levels.`);
      }
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
  }
  if (members > MAX_MEMBERS) {
    throw invalidRequest(`The request body has more than ${MAX_MEMBERS} fields and elements.`);
  }
}
