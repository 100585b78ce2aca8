import { describe, expect, it } from 'vitest';
import { FakeClock, InstantClock, settle } from '../../test/fake-clock.ts';
import { ConnectionError } from '../errors/connection-error.ts';
import { createApiError } from '../errors/create-api-error.ts';
import { TimeoutError } from '../errors/timeout-error.ts';
import { ANSWER_SCHEMAS, type Answers } from '../http/answers.ts';
import type { Clock } from '../http/clock.ts';
import type { TransportRequest } from '../http/transport.ts';
import type { RequestOptions } from '../options.ts';
import type { Job } from '../wire/job.ts';
// Loaded here, so that no test with a clock that stands still has to wait for the disk.
import './batch-work.ts';
import { Jobs } from './jobs.ts';

const JOB_ID = '0190a0b0-0000-7000-8000-000000000001';

function job(status: string, processed = 0, total = 10): Job {
  return { id: JOB_ID, status, total, processed, results: [] };
}

/** Jobs over a transport that answers by what `answer` says of the time. */
function makeJobs(clock: Clock, answer: (nowMs: number, poll: number) => Job) {
  const polls: { atMs: number; path: string; options: RequestOptions | undefined }[] = [];
  const transport = {
    load: <T>(part: () => Promise<T>) => part(),
    request: async <Name extends keyof Answers>({
      path,
      answer: name,
      options,
    }: TransportRequest<Name>): Promise<Answers[Name]> => {
      polls.push({ atMs: clock.now(), path, options });
      const parsed = ANSWER_SCHEMAS[name].safeParse(answer(clock.now(), polls.length));
      if (!parsed.success) throw new Error('the fake answered something else');
      return parsed.data;
    },
  };
  return { jobs: new Jobs(transport, clock), polls };
}

/** A job that begins at `startMs` and works evenly for `lengthMs`. */
const steady =
  (lengthMs: number, startMs = 0) =>
  (nowMs: number) => {
    const done = Math.min(1, (nowMs - startMs) / lengthMs);
    return job(done === 1 ? 'completed' : 'processing', Math.floor(done * 10_000), 10_000);
  };

describe('jobs.retrieve', () => {
  it('asks for the job once', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), () => job('processing', 3));
    expect(await jobs.retrieve('a/b', { maxRetries: 1 })).toMatchObject({ processed: 3 });
    expect(polls).toEqual([{ atMs: 0, path: '/api/v1/jobs/a%2Fb', options: { maxRetries: 1 } }]);
  });

  it('refuses an empty id', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), () => job('processing'));
    await expect(jobs.retrieve('')).rejects.toMatchObject({ name: 'InvalidOptionError' });
    expect(polls).toEqual([]);
  });
});

describe('jobs.wait', () => {
  it.each([
    [300, 6],
    [3000, 6],
    [8000, 6],
    [60_000, 10],
  ])('sees a job of %i ms complete in time, in at most %i polls', async (lengthMs, most) => {
    const { jobs, polls } = makeJobs(new InstantClock(), steady(lengthMs));
    expect(await jobs.wait(JOB_ID)).toMatchObject({ status: 'completed' });
    expect(polls.at(-1)?.atMs).toBeLessThanOrEqual(1.25 * lengthMs + 500);
    expect(polls.length).toBeLessThanOrEqual(most);
  });

  it('polls first after 150 ms, and not a millisecond before', async () => {
    const clock = new FakeClock();
    const { jobs, polls } = makeJobs(clock, () => job('completed', 10));
    const waiting = jobs.wait(JOB_ID);
    await clock.advance(149);
    expect(polls).toHaveLength(0);
    await clock.advance(1);
    expect(polls).toHaveLength(1);
    await waiting;
  });

  it('tells every answer, the last one too', async () => {
    const seen: number[] = [];
    const { jobs } = makeJobs(new InstantClock(), steady(1000));
    await jobs.wait(JOB_ID, { onProgress: ({ processed }) => seen.push(processed) });
    expect(seen.length).toBeGreaterThan(1);
    expect(seen.at(-1)).toBe(10_000);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });

  it('goes on polling a status it does not know, and does not spin', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), (nowMs) =>
      nowMs < 5000 ? job('queued') : job('completed', 10),
    );
    await jobs.wait(JOB_ID);
    expect(polls.length).toBeLessThanOrEqual(9);
    expect(polls.at(-1)?.atMs).toBeLessThanOrEqual(1.65 * 5000 + 500);
  });

  it.each(['failed', 'cancelled', 'error'])('ends with JobFailedError on %s', async (status) => {
    const { jobs, polls } = makeJobs(new InstantClock(), () => job(status, 4));
    await expect(jobs.wait(JOB_ID)).rejects.toMatchObject({
      name: 'JobFailedError',
      jobId: JOB_ID,
      job: { processed: 4 },
      message: `Job ${JOB_ID} ended as "${status}"; 4 of 10 links were processed`,
    });
    expect(polls).toHaveLength(1);
  });

  it('returns a completed job as it is even where not all links were processed', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), () => job('completed', 4));
    expect(await jobs.wait(JOB_ID)).toMatchObject({ processed: 4, total: 10 });
    expect(polls).toHaveLength(1);
  });

  it('polls once more at its deadline, then ends with JobTimeoutError', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), () => job('processing', 1));
    await expect(jobs.wait(JOB_ID, { timeoutMs: 1000 })).rejects.toMatchObject({
      name: 'JobTimeoutError',
      jobId: JOB_ID,
      timeoutMs: 1000,
      job: { processed: 1 },
    });
    expect(polls.at(-1)?.atMs).toBe(1000);
  });

  it('sees a job that completes at its deadline', async () => {
    const { jobs } = makeJobs(new InstantClock(), (nowMs) =>
      job(nowMs >= 1000 ? 'completed' : 'processing'),
    );
    await expect(jobs.wait(JOB_ID, { timeoutMs: 1000 })).resolves.toBeDefined();
    await expect(jobs.wait(JOB_ID, { timeoutMs: 100 })).resolves.toBeDefined();
  });

  it('has a deadline of an hour, and none for 0', async () => {
    const never = makeJobs(new InstantClock(), () => job('processing'));
    await expect(never.jobs.wait(JOB_ID)).rejects.toMatchObject({ timeoutMs: 3_600_000 });
    const long = makeJobs(new InstantClock(), steady(3 * 3_600_000));
    await expect(long.jobs.wait(JOB_ID, { timeoutMs: 0 })).resolves.toBeDefined();
    expect(long.polls[0]?.options?.totalTimeoutMs).toBeUndefined();
  });

  it('bounds each poll by the deadline, and the last one by a second', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), () => job('processing'));
    await expect(jobs.wait(JOB_ID, { timeoutMs: 5000 })).rejects.toThrow();
    expect(polls[0]?.options?.totalTimeoutMs).toBe(4850);
    expect(polls.at(-1)?.options?.totalTimeoutMs).toBe(1000);
  });

  it('turns a poll that runs into the deadline into JobTimeoutError, and no other timeout', async () => {
    const clock = new InstantClock();
    const timeout = new TimeoutError('slow', { outcome: 'unknown', timeoutMs: 1 });
    let answerAfterMs = 0;
    const { jobs } = makeJobs(clock, () => {
      void clock.delay(answerAfterMs);
      throw timeout;
    });
    await expect(jobs.wait(JOB_ID, { timeoutMs: 5000 })).rejects.toBe(timeout);
    answerAfterMs = 4850;
    await expect(jobs.wait(JOB_ID, { timeoutMs: 5000 })).rejects.toMatchObject({
      name: 'JobTimeoutError',
      cause: timeout,
      job: undefined,
      message: expect.stringContaining('no poll was answered'),
    });
  });

  it.each([
    ['404', createApiError({ message: 'no such job', status: 404, headers: new Headers() })],
    ['a lost poll', new ConnectionError('lost', { outcome: 'unknown' })],
  ])('passes the error of %s on, once the transport gave up on it', async (_, error) => {
    const { jobs, polls } = makeJobs(new InstantClock(), () => {
      throw error;
    });
    await expect(jobs.wait(JOB_ID)).rejects.toBe(error);
    expect(polls).toHaveLength(1);
  });

  it('ends at once with the reason of an abort, without another poll', async () => {
    const clock = new FakeClock();
    const { jobs, polls } = makeJobs(clock, () => job('processing'));
    const controller = new AbortController();
    const reason = new Error('enough');
    const waiting = jobs.wait(JOB_ID, { signal: controller.signal });
    await clock.advance(150);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await settle();
    expect(polls).toHaveLength(1);
    expect(polls[0]?.options?.signal).toBe(controller.signal);
  });

  it('passes on maxRetries and headers, but not its own deadline as that of an attempt', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), () => job('completed'));
    await jobs.wait(JOB_ID, { maxRetries: 2, headers: { a: 'b' }, timeoutMs: 7000 });
    expect(polls[0]?.options).toMatchObject({ maxRetries: 2, headers: { a: 'b' } });
    expect(polls[0]?.options?.timeoutMs).toBeUndefined();
  });

  it('refuses a deadline that is no time', async () => {
    const { jobs } = makeJobs(new InstantClock(), () => job('completed'));
    for (const timeoutMs of [-1, Number.NaN]) {
      await expect(jobs.wait(JOB_ID, { timeoutMs })).rejects.toMatchObject({ option: 'timeoutMs' });
    }
  });

  it('times the first poll of a later job from the earlier ones', async () => {
    const clock = new InstantClock();
    let startMs = 0;
    const { jobs, polls } = makeJobs(clock, (nowMs) => steady(3000, startMs)(nowMs));
    const perJob: number[] = [];
    for (let i = 0; i < 20; i += 1) {
      startMs = clock.now();
      const before = polls.length;
      await jobs.wait(JOB_ID, { total: 10_000 });
      perJob.push(polls.length - before);
      expect(clock.now() - startMs).toBeLessThanOrEqual(1.25 * 3000 + 500);
    }
    expect(Math.max(...perJob.slice(1))).toBeLessThanOrEqual(2);
    expect(perJob.slice(1).filter((polled) => polled === 1).length).toBeGreaterThanOrEqual(9);
  });
});
