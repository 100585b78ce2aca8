import { expect, it } from 'vitest';
import { LearnedQuota } from './learned-quota.ts';

/** After one request got through and one was refused, whose window ends at 10 s. */
function refused() {
  const quota = new LearnedQuota();
  quota.pass(0);
  quota.refuse(0, 0, 10_000);
  return quota;
}

/** How many requests may go at once. */
function room(quota: LearnedQuota, now: number): number {
  let requests = 0;
  for (; quota.waitMs(now) === 0; requests += 1) quota.take();
  return requests;
}

it('is not raised by responses that come late, to requests of the window before', () => {
  const quota = refused();
  expect(room(quota, 10_000)).toBe(2);
  for (let late = 0; late < 10; late += 1) quota.pass(9_999);
  expect(room(quota, 20_000)).toBe(2);
});

it('takes the first wait for the length of a window, not a later one, which is a part of it', () => {
  const quota = refused();
  quota.refuse(6_000, 6_000, 4_000);
  expect(room(quota, 10_000)).toBe(2);
  expect(quota.waitMs(10_000)).toBe(10_000);
});

it('is learned also where none got through before the first 429', () => {
  const quota = new LearnedQuota();
  quota.refuse(0, 0, 10_000);
  expect(quota.waitMs(10_000)).toBe(0);
  quota.pass(10_000);
  quota.refuse(10_500, 10_500, 5_000);
  expect(quota.waitMs(15_500)).toBe(0);
  for (let taken = 0; taken < 2; taken += 1) quota.take();
  expect(quota.waitMs(15_500)).toBe(5_500);
});
