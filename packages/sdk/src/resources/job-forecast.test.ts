import { describe, expect, it } from 'vitest';
import { JobForecast } from './job-forecast.ts';
import { firstPollDelay } from './poll-timing.ts';

const clock = { time: 0, now: () => clock.time };

/** Runs jobs of one length one after the other, and tells how many polls each took at least. */
function pollsOf(forecast: JobForecast, lengthMs: number, jobs: number, total = 10_000): number[] {
  return Array.from({ length: jobs }, () => {
    const firstAt = firstPollDelay(forecast.expectedMs(total));
    if (firstAt >= lengthMs) {
      forecast.completeAtFirstPoll(total, firstAt);
      return 1;
    }
    forecast.measured(total, lengthMs);
    return 2;
  });
}

describe('JobForecast', () => {
  it('knows nothing at first, then scales with the number of links', () => {
    const forecast = new JobForecast(clock);
    expect(forecast.expectedMs(100)).toBeUndefined();
    forecast.measured(10_000, 2000);
    expect(forecast.expectedMs(5_000)).toBe(1000);
  });

  it('needs at most two polls per job of a steady service, and mostly one', () => {
    const forecast = new JobForecast(clock);
    forecast.measured(10_000, 3000);
    const polls = pollsOf(forecast, 3000, 30);
    expect(Math.max(...polls)).toBe(2);
    expect(polls.reduce((a, b) => a + b)).toBeLessThanOrEqual(46);
  });

  it('catches up with a service that became ten times faster in six jobs', () => {
    const forecast = new JobForecast(clock);
    forecast.measured(10_000, 20_000);
    pollsOf(forecast, 2000, 6);
    expect(forecast.expectedMs(10_000)).toBeLessThan(2 * 2000);
  });

  it('takes the time of a first job that was complete at its first poll for the most it can be', () => {
    const forecast = new JobForecast(clock);
    forecast.completeAtFirstPoll(1000, 200);
    expect(forecast.expectedMs(1000)).toBeLessThan(200);
    forecast.completeAtFirstPoll(1000, 50);
    expect(forecast.expectedMs(1000)).toBeLessThanOrEqual(50);
  });

  it('learns nothing from a job without links', () => {
    const forecast = new JobForecast(clock);
    forecast.measured(0, 100);
    forecast.completeAtFirstPoll(0, 100);
    forecast.measured(10, Number.NaN);
    expect(forecast.expectedMs(10)).toBeUndefined();
  });

  it('counts the length of a job from the end of the one before it', () => {
    const forecast = new JobForecast(clock);
    forecast.measured(10_000, 600);
    const [first, second, third] = [1, 2, 3].map(() => forecast.begin(10_000));
    expect([first, second, third].map((job) => job?.beganMs)).toEqual([0, undefined, undefined]);
    expect([first, second, third].map((job) => job?.expectedEndMs)).toEqual([600, 1200, 1800]);
    clock.time += 700;
    first?.end();
    clock.time += 50;
    first?.end();
    expect([second, third].map((job) => job?.beganMs)).toEqual([700, undefined]);
    second?.measured(1500);
    expect(third?.expectedMs).toBe(800);
    expect(forecast.begin(10_000).beganMs).toBeUndefined();
  });

  it('takes a job that nothing runs beside to begin at once', () => {
    const forecast = new JobForecast(clock);
    const first = forecast.begin(10_000);
    clock.time += 100;
    first.end();
    expect(forecast.begin(10_000).beganMs).toBe(0);
  });
});
