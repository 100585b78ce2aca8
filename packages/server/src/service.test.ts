import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createService } from './service.ts';
import { NOW, newCaller, newLink, PUBLIC_URL } from './store/contract/fixtures.test-suite.ts';
import { openSqliteStore } from './store/sqlite/index.ts';

// No timer runs: whatever is written is written by the stop.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('a stop writes the clicks that wait to be written, ranks their links, and leaves no timer', async () => {
  const store = await openSqliteStore({ path: ':memory:', publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const created = await store.createLink({ caller, input: newLink(), now: NOW });
  const code = created.ok ? created.value.code : '';
  const service = createService({ store, publicUrl: PUBLIC_URL });
  await service.start();
  const response = await service.fetch(new Request(`${PUBLIC_URL}/${code}`));
  expect(response.status).toBe(302);
  expect(await store.findLink(code)).toMatchObject({ click_count: 0 });
  await service.stop();
  expect(vi.getTimerCount()).toBe(0);
  expect(await store.findLink(code)).toMatchObject({ click_count: 1 });
  const { top_links } = await store.usage(caller.accountId, NOW);
  expect(top_links).toMatchObject([{ code, click_count: 1 }]);
  await store.close();
});

test('a stop waits for the deletion of old rows', async () => {
  const store = await openSqliteStore({ path: ':memory:', publicUrl: PUBLIC_URL });
  const { promise: deleted, resolve: endDeletion } = Promise.withResolvers<void>();
  store.prune = () => deleted;
  const service = createService({ store, publicUrl: PUBLIC_URL });
  await service.start();
  const onStopped = vi.fn<() => void>();
  const stopping = service.stop().then(onStopped);
  for (let turn = 0; turn < 10; turn += 1) await new Promise((next) => setImmediate(next));
  expect(onStopped).not.toHaveBeenCalled();
  endDeletion();
  await stopping;
  await store.close();
});
