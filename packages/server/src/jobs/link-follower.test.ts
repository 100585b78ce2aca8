import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Domain, LinkChanges } from '../store/store.ts';
import { FOLLOW_MS, linkFollower } from './repeated.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const ALL: LinkChanges = { latest: 7, changed: 'all' };
const domain: Domain = { id: 'dom_1', hostname: 'go.example', account_id: 'acc_1' };

function setUp() {
  const asked: number[] = [];
  const applied: LinkChanges['changed'][] = [];
  const logged: string[] = [];
  const log = (_: object | string, words?: string) => logged.push(words ?? String(_));
  const domains: Domain[] = [];
  const store = {
    answer: async (): Promise<LinkChanges> => ({ latest: 7, changed: [] }),
    listDomains: async () => domains,
    linkChanges: (since: number) => {
      asked.push(since);
      return store.answer();
    },
  };
  const follower = linkFollower({
    store,
    cache: { apply: (changed) => applied.push(changed) },
    publicUrl: 'https://sho.rt',
    logger: { error: log, info: log },
  });
  return { asked, applied, logged, domains, store, follower };
}

test('asks in the background for what is new, and applies it', async () => {
  const { asked, applied, store, follower } = setUp();
  store.answer = async () => ALL;
  await follower.start();
  store.answer = async () => ({ latest: 9, changed: ['a', 'b'] });
  await vi.advanceTimersByTimeAsync(FOLLOW_MS);
  store.answer = async () => ({ latest: 9, changed: [] });
  await vi.advanceTimersByTimeAsync(FOLLOW_MS);
  follower.stop();
  await vi.advanceTimersByTimeAsync(10 * FOLLOW_MS);
  expect(asked).toEqual([0, 7, 9]);
  expect(applied).toEqual(['all', ['a', 'b'], []]);
  expect(FOLLOW_MS).toBeLessThan(500);
});

test('a custom domain that is added counts after the next question, wherever the clock goes', async () => {
  const { domains, store, follower } = setUp();
  store.answer = async () => ALL;
  await follower.start();
  const isCustom = async () => (await follower.ownHosts()).isCustomDomain('go.example');
  expect(await isCustom()).toBe(false);
  domains.push(domain);
  vi.setSystemTime(0);
  await vi.advanceTimersByTimeAsync(FOLLOW_MS);
  expect(await isCustom()).toBe(true);
  follower.stop();
});

test('a store that hangs is asked once, and nobody waits for the list of domains', async () => {
  const { asked, domains, store, follower } = setUp();
  domains.push(domain);
  store.answer = async () => ALL;
  await follower.start();
  store.answer = () => new Promise(() => undefined);
  await vi.advanceTimersByTimeAsync(100 * FOLLOW_MS);
  expect(asked).toEqual([0, 7]);
  expect(follower.ownHosts()).toMatchObject({ isCustomDomain: expect.any(Function) });
  follower.stop();
});

test('domains that can not be read are read with the next question', async () => {
  const { asked, domains, store, follower } = setUp();
  const { listDomains } = store;
  domains.push(domain);
  store.answer = async () => ALL;
  store.listDomains = () => Promise.reject(new Error('down'));
  await follower.start();
  store.listDomains = listDomains;
  await vi.advanceTimersByTimeAsync(FOLLOW_MS);
  follower.stop();
  expect(asked).toEqual([0, 0]);
  expect(follower.ownHosts()).toMatchObject({ isCustomDomain: expect.any(Function) });
});

test('an outage is logged when it begins and when it ends', async () => {
  const { logged, store, follower } = setUp();
  const { answer } = store;
  store.answer = () => Promise.reject(new Error('down'));
  await follower.start();
  await vi.advanceTimersByTimeAsync(50 * FOLLOW_MS);
  store.answer = answer;
  await vi.advanceTimersByTimeAsync(5 * FOLLOW_MS);
  follower.stop();
  expect(logged).toEqual([
    'reading changes of links failed',
    'reading changes of links works again',
  ]);
});
