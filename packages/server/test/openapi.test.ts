import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, test } from 'vitest';
import document from '../api/openapi.json' with { type: 'json' };
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import { appOf } from './app-of.ts';

const paths = Object.entries(Object(document.paths));

test('passes the linter without a word', async () => {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      // A short link answers with a redirect, and a probe without a key has no client errors.
      'operation-2xx-response': 'off',
      'operation-4xx-response': 'off',
    },
  });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  expect(
    problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
  ).toEqual([]);
});

test('describes every route of the app, and no other', async () => {
  const store = await openSqliteStore({ path: ':memory:', publicUrl: 'https://sho.rt' });
  const app = appOf({ store, publicUrl: 'https://sho.rt' });
  const routes = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replace(/:\w+/g, '{}')}`);
  const described = paths.flatMap(([path, item]) =>
    Object.keys(Object(item))
      // HEAD is GET without its body; hono has no route of its own for it.
      .filter((method) => method !== 'parameters' && method !== 'head')
      .map((method) => `${method.toUpperCase()} ${path.replace(/{\w+}/g, '{}')}`),
  );
  expect(described.toSorted()).toEqual([...new Set(routes)].toSorted());
  await store.close();
});

test('a server sends it with its own address', async () => {
  const store = await openSqliteStore({ path: ':memory:', publicUrl: 'https://own.example' });
  const response = await appOf({ store, publicUrl: 'https://own.example' }).request(
    '/openapi.json',
  );
  expect(await response.json()).toEqual({ ...document, servers: [{ url: 'https://own.example' }] });
  await store.close();
});
