import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ownHostsOf } from '../domain/hostnames.ts';
import { EVERY_TARGET_HOST } from '../domain/targets.ts';
import type { Store } from '../store/store.ts';
import { bodyChecker } from './body-checker.ts';
import type { BodyKind } from './check-body.ts';

let domains: { hostname: string }[] = [];
afterEach(() => {
  domains = [];
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Checks texts with a checker of its own. */
function open(targetHosts = EVERY_TARGET_HOST) {
  const ownHosts = () => ownHostsOf('https://sho.rt', domains);
  const store = { ownedDomains: async () => new Set(['dom_a']) } as Partial<Store> as Store;
  const check = bodyChecker({ store, targetHosts, ownHosts });
  return (text: string, { kind = 'batch' as BodyKind } = {}) => {
    const bytes = new Uint8Array(Buffer.from(text));
    return check({ kind, bytes, accountId: 'acc_x', keyedPath: '/x' });
  };
}

const links = (count: number, target = 'https://example.com/') =>
  Array.from({ length: count }, (_, n) => ({ target_url: `${target}${n}` }));

/** The text with blanks, so that it is too large to be checked where it arrives. */
const onThread = (body: unknown) =>
  `${typeof body === 'string' ? body : JSON.stringify(body)}${' '.repeat(65_537)}`;

const batch = (count: number) => JSON.stringify({ links: links(count) });

describe('a large body comes to what a small one comes to', () => {
  const check = open({ allow: [], deny: ['bad.example'] });
  test.each<[name: string, body: unknown, kind: BodyKind]>([
    ['100 links', { links: links(100) }, 'batch'],
    ['a job', { links: links(1_001) }, 'batch'],
    ['bad entries', { links: [{}, { target_url: 'x', tags: 1 }] }, 'batch'],
    ['a link to the service', { links: links(1, 'https://sho.rt/') }, 'batch'],
    ['a link to a custom domain', { links: links(1, 'https://go.example/') }, 'batch'],
    ['a link to a host that is not allowed', { links: links(1, 'https://bad.example/') }, 'batch'],
    ['domains of the account', { domain_id: 'dom_a', links: links(2) }, 'batch'],
    ['domains of others', { links: [{ ...links(1)[0], domain_id: 'dom_b' }] }, 'batch'],
    ['targets to look up', { links: links(600) }, 'lookup'],
    ['codes to look up', { codes: ['a', 1] }, 'lookup'],
    ['one link', links(1)[0], 'link'],
    ['no JSON', '{', 'batch'],
    ['a list', '[]', 'batch'],
    ['no UTF-8', '"\ud800"', 'batch'],
  ])('%s', async (_, body, kind) => {
    domains = [{ hostname: 'go.example' }];
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const small = await check(text, { kind });
    const large = await check(onThread(text), { kind });
    expect({ ...large, fingerprint: undefined }).toEqual({ ...small, fingerprint: undefined });
    expect(large.fingerprint === undefined).toBe(small.fingerprint === undefined);
  });

  test('with the domains of the service as they are at the time', async () => {
    const body = onThread({ links: links(1, 'https://go.example/') });
    expect(await check(body)).toHaveProperty('input');
    domains = [{ hostname: 'go.example' }];
    expect(await check(body)).toHaveProperty('problem.error', expect.stringMatching(/own domains/));
    domains = [];
    expect(await check(body)).toHaveProperty('input');
  });
});

test('other requests are served while a large body is checked', async () => {
  const check = open();
  await check(onThread(batch(1)));
  let turns = 0;
  let isDone = false;
  const checked = check(batch(10_000)).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await nextTurn();
    turns += 1;
  }
  await checked;
  // Checked here, it would take one turn or two.
  expect(turns).toBeGreaterThan(20);
});

test('small bodies do not wait for large ones', async () => {
  const check = open();
  const done: string[] = [];
  const large = [batch(10_000), batch(5_000)].map((text) =>
    check(text).then(() => done.push('large')),
  );
  await check(batch(2)).then(() => done.push('small'));
  await Promise.all(large);
  expect(done).toEqual(['small', 'large', 'large']);
});

test('of the bodies that wait for a thread that fails, only the one that it checked is rejected', async () => {
  const check = open();
  const bodies = [
    check(onThread(batch(3))),
    // No request has such a body; it stands for a fault of ours.
    check(onThread(batch(3)), { kind: 'unknown' as BodyKind }),
    check(onThread(batch(4))),
  ];
  const [before, failed, after] = await Promise.allSettled(bodies);
  expect(failed).toMatchObject({ status: 'rejected', reason: expect.any(TypeError) });
  expect(before).toMatchObject({ value: { input: { length: 3 } } });
  expect(after).toMatchObject({ value: { input: { length: 4 } } });
});

test('the thread ends when there was no large body for a while, and starts again', async () => {
  const asked = vi.spyOn(Worker.prototype, 'postMessage');
  const terminate = vi.spyOn(Worker.prototype, 'terminate');
  // Threads of other files in this process end when their own time has come.
  const ended = () => terminate.mock.contexts.filter((one) => asked.mock.contexts.includes(one));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const check = open();
  await check(onThread(batch(1)));
  vi.advanceTimersByTime(29_000);
  await check(onThread(batch(1)));
  vi.advanceTimersByTime(29_000);
  expect(ended()).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(ended()).toHaveLength(1);
  expect(await check(onThread(batch(2)))).toHaveProperty('input.length', 2);
});
