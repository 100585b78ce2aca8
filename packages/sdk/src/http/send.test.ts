import { afterEach, expect, test, vi } from 'vitest';
import { type Attempt, send } from './send.ts';

afterEach(() => vi.unstubAllGlobals());

/** The body in the `init` that `fetch` is given, and what is sent of it. */
async function sent(): Promise<{ initBody: unknown; text: string }> {
  let initBody: unknown;
  let text = '';
  const attempt: Attempt = {
    method: 'POST',
    url: 'https://go.example.com/api/v1/links',
    headers: { 'content-type': 'application/json' },
    body: '{"title":"ü"}',
    fetch: async (url, init) => {
      initBody = init.body;
      text = await new Request(url, init).text();
      return Response.json({});
    },
    fetchOptions: {},
    maxResponseBytes: 1000,
    timeoutMs: 0,
    redact: (value) => value,
  };
  await send(attempt, new AbortController().signal);
  return { initBody, text };
}

test('Deno gets a body that it can not send again by itself', async () => {
  vi.stubGlobal('Deno', {});
  const { initBody, text } = await sent();
  expect(initBody).toBeInstanceOf(Blob);
  expect(text).toBe('{"title":"ü"}');
});

test('other runtimes get the text', async () => {
  const { initBody, text } = await sent();
  expect(initBody).toBe('{"title":"ü"}');
  expect(text).toBe('{"title":"ü"}');
});
