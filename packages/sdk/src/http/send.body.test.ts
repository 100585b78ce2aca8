import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Attempt, send } from './send.ts';

afterEach(() => vi.unstubAllGlobals());

/** A body of these pieces, which then ends or fails. */
function bodyOf(pieces: readonly string[], failure?: Error) {
  const left = [...pieces];
  const seen = { reads: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        seen.reads += 1;
        const piece = left.shift();
        if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
        else if (failure !== undefined) controller.error(failure);
        else controller.close();
      },
      cancel() {
        seen.isCancelled = true;
        // A body that is lost already can't be cancelled, and nobody hears of it.
        throw new Error('lost already');
      },
    },
    { highWaterMark: 0 },
  );
  return { body, seen };
}

function read(
  response: Response,
  maxResponseBytes: number,
  signal = new AbortController().signal,
  timeoutMs = 0,
) {
  const attempt: Attempt = {
    method: 'GET',
    url: 'https://go.example.com/api/v1/jobs/1',
    headers: {},
    body: undefined,
    fetch: async () => response,
    fetchOptions: {},
    maxResponseBytes,
    timeoutMs,
    redact: (value) => value,
  };
  return send(attempt, signal);
}

describe('the status of an error counts', () => {
  const headers = { 'Retry-After': '1' };
  const endless = () => new ReadableStream({ pull: () => new Promise(() => {}) });

  test('where its body stalls', async () => {
    const raw = await read(new Response(endless(), { status: 429, headers }), 10, undefined, 20);
    expect(raw).toMatchObject({ status: 429, text: '' });
    expect(raw.headers.get('Retry-After')).toBe('1');
    await expect(read(new Response(endless()), 10, undefined, 20)).rejects.toMatchObject({
      name: 'TimeoutError',
      outcome: 'unknown',
    });
  });

  test('where its body is lost that can only be read whole', async () => {
    const whole = (status: number) =>
      Object.defineProperties(new Response(null, { status }), {
        body: { value: {} },
        text: { value: () => Promise.reject(new Error('cut')) },
      });
    expect(await read(whole(401), 10)).toMatchObject({ status: 401, text: '' });
    await expect(read(whole(201), 10)).rejects.toMatchObject({ outcome: 'unknown' });
  });

  test('but not where the caller ends the call', async () => {
    const controller = new AbortController();
    const done = read(new Response(endless(), { status: 400 }), 10, controller.signal);
    setTimeout(() => controller.abort('enough'), 20);
    await expect(done).rejects.toBe('enough');
  });
});

describe('the body of a response', () => {
  test('may have as many bytes as are allowed, however it arrives', async () => {
    const { body, seen } = bodyOf(['{"a":', '"ü"}']);
    expect(await read(new Response(body), 10)).toMatchObject({
      text: '{"a":"ü"}',
      isTooLarge: false,
    });
    expect(seen.isCancelled).toBe(false);
  });

  test('is cut where it has more, and read no further', async () => {
    const { body, seen } = bodyOf(['12345', '6', 'never read']);
    expect(await read(new Response(body), 5)).toMatchObject({ text: '12345', isTooLarge: true });
    expect(seen).toEqual({ reads: 2, isCancelled: true });
  });

  test('keeps a character that arrives in two pieces, and marks one that never ends', async () => {
    const bytes = new TextEncoder().encode('ü');
    const split = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.slice(0, 1));
        controller.enqueue(bytes.slice(1));
        controller.enqueue(bytes.slice(0, 1));
        controller.close();
      },
    });
    expect(await read(new Response(split), 100)).toMatchObject({ text: 'ü\ufffd' });
  });

  test('of an error has a lower bound', async () => {
    const piece = 'x'.repeat(1_048_576);
    const { body } = bodyOf([piece, 'y']);
    const response = await read(new Response(body, { status: 500 }), 10_000_000);
    expect(response).toMatchObject({ status: 500, isTooLarge: true });
    expect(response.text).toHaveLength(1_048_576);
    const small = await read(new Response('four', { status: 500 }), 3);
    expect(small).toMatchObject({ text: '', isTooLarge: true });
  });

  test('that is lost is no response, except where the status says enough', async () => {
    const lost = () => bodyOf(['{"error":"ab'], new Error('socket hang up')).body;
    await expect(read(new Response(lost()), 100)).rejects.toMatchObject({
      name: 'ConnectionError',
      outcome: 'unknown',
    });
    expect(await read(new Response(lost(), { status: 403 }), 100)).toMatchObject({
      status: 403,
      text: '{"error":"ab',
      isTooLarge: false,
    });
  });

  test('is given up with the reason of an abort, also that of an error', async () => {
    for (const status of [200, 500]) {
      const controller = new AbortController();
      const reason = new Error('stopped');
      const { body, seen } = bodyOf(['a', 'b', 'c']);
      const reading = body.getReader.bind(body);
      vi.spyOn(body, 'getReader').mockImplementation(((...args: []) => {
        controller.abort(reason);
        return reading(...args);
      }) as never);
      const response = new Response(null, { status });
      Object.defineProperty(response, 'body', { value: body });
      await expect(read(response, 100, controller.signal)).rejects.toBe(reason);
      expect(seen).toEqual({ reads: 1, isCancelled: true });
    }
  });

  test('has its bound where the runtime has no navigator, such as Node 20', async () => {
    vi.stubGlobal('navigator', undefined);
    expect(await read(new Response('123456'), 5)).toMatchObject({ isTooLarge: true });
  });

  test('is read whole where the runtime reads it in pieces badly, or can not at all', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
    expect(await read(new Response('123456'), 5)).toMatchObject({
      text: '123456',
      isTooLarge: false,
    });
    vi.unstubAllGlobals();
    const bodiless = new Response('123456');
    Object.defineProperty(bodiless, 'body', { value: {} });
    expect(await read(bodiless, 5)).toMatchObject({ text: '123456', isTooLarge: false });
    expect(await read(new Response(null, { status: 204 }), 5)).toMatchObject({ text: '' });
  });
});
