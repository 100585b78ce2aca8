import { describe, expect, test } from 'vitest';
import { JobPace } from './job-pace.ts';

const fresh = { total: 10_000, processed: 0, ageMs: 0, pendingJobs: 1 };

describe('seconds until a poll of a job is worth it', () => {
  test('are 0 for a job that takes less than a second, or is almost done', () => {
    expect(new JobPace().secondsUntilPoll({ ...fresh, total: 101 })).toBe(0);
    expect(new JobPace().secondsUntilPoll({ ...fresh, processed: 9_999, ageMs: 500 })).toBe(0);
  });

  test('follow the pace at which jobs make links', () => {
    const pace = new JobPace();
    for (let at = 0; at < 20_000; at += 500) pace.made(500, at, at + 500);
    const seconds = pace.secondsUntilPoll(fresh);
    expect(seconds).toBeGreaterThanOrEqual(9);
    expect(seconds).toBeLessThanOrEqual(11);
    expect(pace.secondsUntilPoll({ ...fresh, processed: 5_000, ageMs: 5_000 })).toBeLessThan(
      seconds,
    );
  });

  test('do not count the time in which no job ran', () => {
    const pace = new JobPace();
    // Each job is done in 100 ms, and the next one comes much later.
    for (let at = 0; at < 20_000; at += 900) pace.made(10_000, at, at + 100);
    expect(pace.secondsUntilPoll({ ...fresh, total: 20_000 })).toBe(0);
  });

  test('are not changed by links that were made in no time', () => {
    const pace = new JobPace();
    pace.made(10_000, 1_000, 1_000);
    expect(pace.secondsUntilPoll({ ...fresh, total: 90_000 })).toBe(3);
  });

  test('count the time of two runs side by side once', () => {
    const pace = new JobPace();
    for (let at = 0; at < 20_000; at += 500) {
      pace.made(10_000, at, at + 200);
      pace.made(10_000, at, at + 400);
    }
    expect(pace.secondsUntilPoll({ ...fresh, total: 49_000 })).toBe(0);
    expect(pace.secondsUntilPoll({ ...fresh, total: 51_000 })).toBe(1);
  });

  test('grow with the jobs that wait before it', () => {
    const pace = new JobPace();
    expect(pace.secondsUntilPoll({ ...fresh, pendingJobs: 30 })).toBe(10);
    expect(pace.secondsUntilPoll({ ...fresh, processed: 500, ageMs: 10, pendingJobs: 30 })).toBe(0);
  });

  test('take the job’s own progress if that is faster', () => {
    const pace = new JobPace();
    for (let at = 0; at < 60_000; at += 500) pace.made(50, at, at + 500);
    expect(pace.secondsUntilPoll({ ...fresh, processed: 5_000, ageMs: 1_000 })).toBe(1);
  });

  test('grow for a job that makes no progress, and have a bound', () => {
    const pace = new JobPace();
    const stuck = { ...fresh, processed: 9_500 };
    expect(pace.secondsUntilPoll({ ...stuck, ageMs: 1_000 })).toBe(0);
    expect(pace.secondsUntilPoll({ ...stuck, ageMs: 60_000 })).toBe(6);
    expect(pace.secondsUntilPoll({ ...stuck, ageMs: 86_400_000 })).toBe(30);
  });
});
