import nodeFetch from 'node-fetch';
import { fetch as undiciFetch } from 'undici';
import { describe, expectTypeOf, it } from 'vitest';
import type { BULK_OPTIONS } from './bulk/create-many.ts';
import {
  ApiError,
  type ApiResponse,
  type BatchResponse,
  type BulkItem,
  type CompletedBatch,
  ConnectionError,
  type CreateManyOptions,
  type ErrorCode,
  type Job,
  type Jobs,
  type Link,
  type LinkInput,
  type LookupResult,
  type Outcome,
  PlanLimitError,
  RateLimitError,
  type RedirectType,
  type RequestOptions,
  Shortlink,
  type ShortlinkError,
  type ShortlinkOptions,
  type WaitOptions,
} from './index.ts';
import type { CALL_OPTIONS, CLIENT_OPTIONS, WAIT_OPTIONS } from './options.ts';

declare const shortlink: Shortlink;
declare const error: unknown;

describe('batch answers', () => {
  it('are told apart by status', () => {
    const answer = {} as BatchResponse;
    if (answer.status === 'processing') {
      expectTypeOf(answer.job_id).toBeString();
      expectTypeOf(answer).not.toHaveProperty('results');
    } else {
      expectTypeOf(answer.results).toBeArray();
      expectTypeOf(answer).not.toHaveProperty('job_id');
    }
  });
});

describe('bulk items', () => {
  it('are told apart by outcome, and keep the type of the source', () => {
    const source = [{ target_url: 'https://a.example', row: 7 }];
    const items = shortlink.links.createMany(source);
    expectTypeOf(items).toExtend<AsyncIterable<BulkItem<{ target_url: string; row: number }>>>();
    const item = {} as BulkItem<(typeof source)[number]>;
    expectTypeOf(item.input.row).toBeNumber();
    if (item.outcome === 'created') expectTypeOf(item.short_url).toBeString();
    else expectTypeOf(item.error).toBeString();
  });

  it('come from what holds links, and nothing else', () => {
    const { links } = shortlink;
    expectTypeOf(links.createMany).toBeCallableWith(new Set([{ target_url: 'x' }]));
    expectTypeOf(links.createMany).toBeCallableWith(new ReadableStream<{ target_url: string }>());
    // @ts-expect-error target_url is required
    links.createMany([{ url: 'x' }]);
    // @ts-expect-error 303 is no redirect type of the service
    links.createMany([{ target_url: 'x', redirect_type: 303 }]);
  });
});

describe('methods', () => {
  it('return what the service answers', () => {
    expectTypeOf(shortlink.links.create).returns.resolves.toEqualTypeOf<Link>();
    expectTypeOf(shortlink.links.createBatch).returns.resolves.toEqualTypeOf<BatchResponse>();
    expectTypeOf(
      shortlink.links.createBatchAndWait,
    ).returns.resolves.toEqualTypeOf<CompletedBatch>();
    expectTypeOf(shortlink.jobs.retrieve).returns.resolves.toEqualTypeOf<Job>();
    expectTypeOf(shortlink.jobs.wait).returns.resolves.toEqualTypeOf<Job>();
  });

  it('and names are all that completions show', () => {
    expectTypeOf<keyof Jobs>().toEqualTypeOf<'retrieve' | 'wait'>();
    expectTypeOf<keyof Shortlink>().toEqualTypeOf<'jobs' | 'links' | 'usage' | 'withOptions'>();
    type Fields = Extract<keyof ShortlinkError, string>;
    expectTypeOf<Exclude<Fields, keyof Error>>().toEqualTypeOf<'jobId' | 'toJSON'>();
  });

  it('give the response beside the data', () => {
    type Created = ReturnType<ReturnType<typeof shortlink.links.create>['withResponse']>;
    expectTypeOf<Created>().resolves.toEqualTypeOf<ApiResponse<Link>>();
  });

  it('take one kind of link, wherever a link is given', () => {
    const { links } = shortlink;
    const link = {} as Link;
    // A row as a database has it.
    const row = {} as {
      id: number;
      target_url: string;
      title: string | null;
      tags: string[] | null;
    };
    const nulls = {
      target_url: 'x',
      title: null,
      tags: null,
      domain_id: null,
      redirect_type: null,
    };
    const inputs = [link, row, nulls, { target_url: new URL('https://a.example') }] as const;
    for (const input of inputs) expectTypeOf(input).toExtend<LinkInput>();
    links.create(link);
    links.create({ ...link, title: 'Copy', domain_id: 'd' });
    links.create(row);
    links.create(nulls);
    links.create({ target_url: new URL('https://a.example') });
    links.createBatch({ links: inputs, domain_id: null });
    links.createBatch({ links: [link] });
    links.createBatchAndWait({ links: [row, nulls] });
    links.createMany(inputs);
    links.createMany([row]);
    links.createMany([link]);
    links.createMany(new Set([nulls]));
    expectTypeOf(link.redirect_type).toEqualTypeOf<RedirectType>();
  });

  it('look links up by what a caller has', () => {
    const { lookup } = shortlink.links;
    expectTypeOf(lookup).returns.resolves.toEqualTypeOf<LookupResult[]>();
    expectTypeOf(lookup).toBeCallableWith(['https://a.example', new URL('https://a.example')]);
    expectTypeOf(lookup).toBeCallableWith([{} as Link]);
    expectTypeOf(lookup).toBeCallableWith([{ target_url: 'x', domain_id: null, after: 'id' }]);
    expectTypeOf(lookup).toBeCallableWith(new ReadableStream<string>());
    expectTypeOf(lookup).toBeCallableWith({ codes: new Set(['a']) });
    // @ts-expect-error a code is a string
    lookup({ codes: [7] });
    // @ts-expect-error a list of targets
    lookup({ target_url: 'x' });
  });

  it('check what they are given', () => {
    // @ts-expect-error 303 is no redirect type of the service
    shortlink.links.create({ target_url: 'x', redirect_type: 303 });
    // @ts-expect-error target_url is required
    shortlink.links.create({ title: 'Docs' });
    // @ts-expect-error tags are a list
    shortlink.links.create({ target_url: 'x', tags: 'docs' });
    // @ts-expect-error a link, not its target
    shortlink.links.create('https://a.example');
    // @ts-expect-error a batch has links
    shortlink.links.createBatch([{ target_url: 'x' }]);
    // @ts-expect-error links are required
    shortlink.links.createBatch({ domain_id: 'd' });
    // @ts-expect-error an unknown option
    shortlink.links.create({ target_url: 'x' }, { timeout: 1 });
  });
});

/** The words of a text. */
type Words<T extends string> = T extends `${infer First} ${infer Rest}` ? First | Words<Rest> : T;

describe('options', () => {
  it('are refused unless they are named where they are checked', () => {
    expectTypeOf<Words<typeof CALL_OPTIONS>>().toEqualTypeOf<keyof RequestOptions>();
    expectTypeOf<Words<typeof BULK_OPTIONS>>().toEqualTypeOf<keyof CreateManyOptions>();
    expectTypeOf<Words<typeof WAIT_OPTIONS>>().toEqualTypeOf<keyof WaitOptions>();
    expectTypeOf<Words<typeof CLIENT_OPTIONS>>().toEqualTypeOf<keyof ShortlinkOptions>();
  });

  it('may all be left out or undefined', () => {
    expectTypeOf<{ timeoutMs: undefined; signal: undefined }>().toExtend<RequestOptions>();
    new Shortlink();
    new Shortlink({ apiKey: undefined, hooks: { onRetry: undefined }, logger: console });
    new Shortlink({ headers: new Headers(), fetchOptions: { dispatcher: {} }, logLevel: 'warn' });
    new Shortlink({ fetch: globalThis.fetch });
    new Shortlink({ fetch: nodeFetch });
    new Shortlink({ fetch: undiciFetch });
    new Shortlink({ fetch: async (url, init) => globalThis.fetch(new Request(url, init)) });
    // @ts-expect-error an unknown level
    new Shortlink({ logLevel: 'trace' });
    // @ts-expect-error durations end in Ms
    new Shortlink({ timeout: 1000 });
  });

  it('type each event', () => {
    new Shortlink({
      hooks: {
        onRetry(event) {
          expectTypeOf(event.waitMs).toBeNumber();
          expectTypeOf(event.error).toEqualTypeOf<ShortlinkError>();
        },
        onResponse(event) {
          expectTypeOf(event.status).toBeNumber();
          expectTypeOf(event.requestId).toEqualTypeOf<string | undefined>();
        },
      },
    });
  });
});

describe('errors', () => {
  it('are narrowed by isInstance and by instanceof', () => {
    if (RateLimitError.isInstance(error)) {
      expectTypeOf(error).toEqualTypeOf<RateLimitError>();
      expectTypeOf(error.retryAfterMs).toEqualTypeOf<number | undefined>();
    } else if (PlanLimitError.isInstance(error)) {
      const upgrade: true = error.upgrade;
      expectTypeOf(upgrade).toBeBoolean();
      expectTypeOf(error.allowed).toEqualTypeOf<number | undefined>();
    } else if (error instanceof ConnectionError) {
      expectTypeOf(error.outcome).toEqualTypeOf<Outcome>();
      expectTypeOf(error.code).toEqualTypeOf<string | undefined>();
    } else if (ApiError.isInstance(error)) {
      expectTypeOf(error.body?.details).toBeNullable();
      expectTypeOf(error.code).toEqualTypeOf<ErrorCode | (string & {}) | undefined>();
    }
    expectTypeOf<RateLimitError>().toExtend<ApiError>();
    expectTypeOf<ApiError>().toExtend<ShortlinkError>();
  });
});
