import { expect, test } from 'vitest';
import { Asker } from './ask.ts';

/** An asker whose requests get their responses from a function. */
function askerOf(respond: (url: URL) => Response, signal = new AbortController().signal) {
  const asked: string[] = [];
  const fetch = async (input: string | URL | Request) => {
    asked.push(String(input));
    return respond(new URL(String(input)));
  };
  const settings = { timeoutMs: 1000, maxRetries: 2, requestsPerMinute: undefined };
  const asker = new Asker({ ...settings, fetch, fetchTarget: fetch, userAgent: 'test', signal });
  return { asker, asked };
}

const busy = () => new Response(null, { status: 429, headers: { 'Retry-After': '60' } });

test('a wait that one server asks for does not hold back requests to another', async () => {
  const stop = new AbortController();
  const { asker, asked } = askerOf(
    ({ host }) => (host === 'busy.example' ? busy() : new Response(null, { status: 404 })),
    stop.signal,
  );
  const held = [asker.short(new URL('http://busy.example/1'))];
  await new Promise((resolve) => setTimeout(resolve, 10));
  held.push(asker.short(new URL('http://busy.example/2')));
  expect(await asker.short(new URL('http://other.example/'))).toMatchObject({ status: 404 });
  expect(asked).toEqual(['http://busy.example/1', 'http://other.example/']);
  stop.abort();
  expect(await Promise.all(held)).toMatchObject([
    { failure: 'not_asked' },
    { failure: 'not_asked' },
  ]);
});

test('a target that is asked too often is not waited for', async () => {
  const { asker, asked } = askerOf(busy);
  expect(await asker.target(new URL('http://busy.example/'))).toMatchObject({ status: 429 });
  expect(asked).toHaveLength(1);
});
