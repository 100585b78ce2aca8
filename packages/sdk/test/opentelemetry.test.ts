import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { type Span, type SpanOptions, trace } from '@opentelemetry/api';
import { afterEach, expect, it, vi } from 'vitest';
import { LINK } from './answers.ts';
import { API_KEY } from './make-client.ts';

const PAGE = new URL('../../docs/sdk/opentelemetry.md', import.meta.url);

/** What a span was told, in order. */
type Note = [method: string, ...args: unknown[]];

afterEach(() => {
  trace.disable();
  vi.unstubAllEnvs();
});

/** A tracer that keeps what its spans are told. */
function record(): Note[][] {
  const spans: Note[][] = [];
  const startSpan = (name: string, options?: SpanOptions): Span => {
    const notes: Note[] = [['start', name, options?.kind]];
    spans.push(notes);
    const span: Span = new Proxy({} as Span, {
      get:
        (_, method) =>
        (...args: unknown[]) => {
          notes.push([String(method), ...args]);
          return span;
        },
    });
    return span;
  };
  const tracer = { startSpan, startActiveSpan: () => {} };
  trace.setGlobalTracerProvider({ getTracer: () => tracer } as never);
  return spans;
}

/** Runs the example of the page against a service that gives these statuses, one after the other. */
async function runExample(...statuses: number[]): Promise<unknown> {
  const server = createServer((req, res) => {
    const status = statuses.shift() ?? 500;
    const body = status === 201 ? LINK : { error: 'no' };
    req.resume().on('end', () => {
      res.writeHead(status, { 'Retry-After': '0.01' }).end(JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  vi.stubEnv('SHORTLINK_API_KEY', API_KEY);
  vi.stubEnv('SHORTLINK_BASE_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [, example = ''] = /```ts\n(.*?)```/s.exec(await readFile(PAGE, 'utf8')) ?? [];
  const code = stripTypeScriptTypes(example)
    .replace("'@shortlink/sdk'", JSON.stringify(new URL('../src/index.ts', import.meta.url)))
    .replace("'@opentelemetry/api'", JSON.stringify(import.meta.resolve('@opentelemetry/api')));
  const url = `data:text/javascript,${encodeURIComponent(`${code}// ${Math.random()}`)}`;
  try {
    return await import(/* @vite-ignore */ url).catch((error: unknown) => error);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it('makes one span of a call, with its retries inside', async () => {
  const spans = record();
  await runExample(429, 201);
  const path = { 'url.path': '/api/v1/links' };
  expect(spans).toEqual([
    [
      ['start', 'shortlink POST', 2],
      ['setAttributes', { ...path, 'http.request.resend_count': 0 }],
      ['setAttribute', 'http.response.status_code', 429],
      ['addEvent', 'retry', { wait_ms: expect.any(Number) }],
      ['setAttributes', { ...path, 'http.request.resend_count': 1 }],
      ['setAttribute', 'http.response.status_code', 201],
      ['end'],
    ],
  ]);
});

it('ends the span of a call that fails, with its error', async () => {
  const spans = record();
  expect(await runExample(400)).toHaveProperty('name', 'BadRequestError');
  expect(spans[0]?.slice(-2)).toEqual([
    ['setStatus', { code: 2, message: 'BadRequestError: no' }],
    ['end'],
  ]);
});

it('takes 15 lines of hooks', async () => {
  const [, hooks = ''] = /hooks: \{\n(.*?)\n {2}\},/s.exec(await readFile(PAGE, 'utf8')) ?? [];
  expect(hooks.split('\n').length).toBeLessThanOrEqual(15);
});
