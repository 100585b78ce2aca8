import { expectTypeOf, test } from 'vitest';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { LinkInput } from '../wire/link.ts';
import type { BatchEvent, CreateManyDeps } from './create-many.ts';
import { createMany } from './create-many.ts';

declare const deps: CreateManyDeps;
interface Row extends LinkInput {
  line: number;
}

test('items keep the type of the source', async () => {
  for await (const item of createMany(deps, [] as Row[]))
    expectTypeOf(item.input).toEqualTypeOf<Row>();
  for await (const item of createMany(deps, (async function* (): AsyncGenerator<Row> {})())) {
    expectTypeOf(item.input).toEqualTypeOf<Row>();
  }
  createMany(deps, new ReadableStream<Row>());
  for await (const item of createMany(deps, {} as AsyncGenerator<Row, number, string>)) {
    expectTypeOf(item.input).toEqualTypeOf<Row>();
  }
  createMany(deps, {} as Generator<Row, number, string>);
  createMany(deps, { [Symbol.asyncIterator]: () => ({}) as AsyncIterator<Row, number> });
  // What `for await` takes: a result at once, from an iterator that can't be closed.
  const atOnce = { done: false, value: {} as Row } as const;
  createMany(deps, { [Symbol.asyncIterator]: () => ({ next: () => atOnce }) });
  // @ts-expect-error a link needs a target_url
  createMany(deps, [{ title: 'x' }]);
  // @ts-expect-error a batch size is a number or 'auto'
  createMany(deps, [] as Row[], { batchSize: 'large' });
});

test('the outcome tells what else there is', async () => {
  for await (const item of createMany(deps, [] as Row[])) {
    switch (item.outcome) {
      case 'created':
        expectTypeOf(item.code).toEqualTypeOf<string>();
        break;
      case 'failed':
      case 'unknown':
        expectTypeOf(item.error).toEqualTypeOf<string>();
        expectTypeOf(item.cause).toEqualTypeOf<ShortlinkError | undefined>();
        break;
      default:
        expectTypeOf(item).toBeNever();
    }
  }
});

test('the type of an event tells what it carries', () => {
  expectTypeOf<Extract<BatchEvent, { type: 'accepted' }>['job_id']>().toEqualTypeOf<string>();
  expectTypeOf<Extract<BatchEvent, { type: 'unsent' }>['error']>().toEqualTypeOf<ShortlinkError>();
  expectTypeOf<Extract<BatchEvent, { type: 'planned' }>>().not.toHaveProperty('error');
});
