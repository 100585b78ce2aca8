import { describe, expect, it } from 'vitest';
import { FakeClock, InstantClock, settle } from '../../test/fake-clock.ts';
import { API_KEY } from '../../test/make-client.ts';
import { createApiError } from '../errors/api-errors.ts';
import { ConnectionError, TimeoutError } from '../errors/call-errors.ts';
import { createRedact } from '../http/failure.ts';
import type { Clock } from '../http/time.ts';
import type { RequestOptions } from '../options.ts';
import type { Job } from '../wire/batch.ts';
import { Jobs, type ResourceParts } from './jobs.ts';
import { KnownJobs } from './poll-timing.ts';

const JOB_ID = '0190a0b0-0000-7000-8000-000000000001';

function job(status: string, processed = 0, total = 10): Job {
  const results = status === 'completed' ? resultsOf(total) : [];
  return { id: JOB_ID, status, total, processed, results };
}

function resultsOf(count: number) {
  return Array.from({ length: count }, (_, n) => ({ target_url: `t${n}`, code: `c${n}` }));
}

/** Jobs over a transport that responds by what `answer` says of the time. */
function makeJobs(clock: Clock, answer: (nowMs: number, poll: number) => Job) {
  const polls: { atMs: number; path: string; options: RequestOptions | undefined }[] = [];
  let retryAfterMs: number | undefined;
  let readMs = 0;
  const transport: ResourceParts['transport'] = {
    request: async ({ path, read, options }) => {
      polls.push({ atMs: clock.now(), path, options });
      const result = read(answer(clock.now(), polls.length), 200);
      if ('missing' in result) throw new Error('the fake sent something else');
      const sentAt = clock.now();
      if (readMs > 0) await clock.delay(readMs);
      const response = { status: 200, headers: new Headers(), requestId: undefined };
      return { ...response, data: result.data, sentAt, retryAfterMs };
    },
  };
  /** From now on the responses carry `Retry-After`. */
  const askForPollAfter = (ms: number | undefined) => {
    retryAfterMs = ms;
  };
  /** From now on it takes as long to read a response. */
  const takeToRead = (ms: number) => {
    readMs = ms;
  };
  const known = new KnownJobs();
  const settings = { maxRetryAfterMs: 90_000, redact: createRedact(API_KEY) };
  const jobs = new Jobs({ ...settings, transport, known, clock, random: () => 1 });
  return { jobs, known, polls, askForPollAfter, takeToRead };
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
    expect(await jobs.retrieve('a?b', { maxRetries: 1 })).toMatchObject({ processed: 3 });
    expect(polls).toEqual([{ atMs: 0, path: '/api/v1/jobs/a%3Fb', options: { maxRetries: 1 } }]);
  });

  it.each(['', '.', '..', 'a/b', '../usage', 'a\\b', 'a\nb', '\ud800', 'x\udfff'])(
    'refuses the id %j, before anything is sent',
    async (id) => {
      const { jobs, polls } = makeJobs(new InstantClock(), () => job('processing'));
      const error = { name: 'InvalidOptionError', option: 'jobId' };
      await expect(jobs.retrieve(id)).rejects.toMatchObject(error);
      await expect(jobs.wait(id)).rejects.toMatchObject(error);
      expect(polls).toEqual([]);
    },
  );

  it.each(['0190a0b0-0000-7000-8000-000000000001', '7', '...', 'a..b', 'job:1', 'ü', '😀'])(
    'takes the id %j',
    async (id) => {
      const { jobs, polls } = makeJobs(new InstantClock(), () => job('processing'));
      await jobs.retrieve(id);
      expect(polls[0]?.path).toBe(`/api/v1/jobs/${encodeURIComponent(id)}`);
    },
  );
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

  it('forecasts the end of a job as well where only the caller says how many links it has', async () => {
    const waits = [10_000, 0].map(async (total) => {
      const answer = (nowMs: number) => ({ ...steady(60_000)(nowMs), total });
      const { jobs, polls } = makeJobs(new InstantClock(), answer);
      await jobs.wait(JOB_ID, { total: 10_000 });
      return polls;
    });
    const [stated, unstated] = await Promise.all(waits);
    expect(unstated).toEqual(stated);
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

  it('shows every poll, the last one too', async () => {
    const seen: number[] = [];
    const { jobs } = makeJobs(new InstantClock(), steady(1000));
    await jobs.wait(JOB_ID, { onProgress: ({ processed }) => seen.push(processed) });
    expect(seen.length).toBeGreaterThan(1);
    expect(seen.at(-1)).toBe(10_000);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });

  it('ends at an abort although onProgress never returns', async () => {
    let waiting: Promise<Job> | undefined;
    const clock = new InstantClock();
    const { jobs } = makeJobs(clock, () => job('processing'));
    const controller = new AbortController();
    const called = new Promise<void>((resolve) => {
      const onProgress = () => {
        resolve();
        return new Promise<void>(() => undefined);
      };
      waiting = jobs.wait(JOB_ID, { onProgress, signal: controller.signal });
      waiting.catch(() => undefined);
    });
    await called;
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it('keeps polling a status it does not know, and does not spin', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), (nowMs) =>
      nowMs < 5000 ? job('queued') : job('completed', 10),
    );
    await jobs.wait(JOB_ID);
    expect(polls.length).toBeLessThanOrEqual(9);
    expect(polls.at(-1)?.atMs).toBeLessThanOrEqual(1.65 * 5000 + 500);
  });

  it.each(['failed', 'cancelled', 'canceled', 'error', 'expired', 'FAILED'])(
    'ends with JobFailedError on %s',
    async (status) => {
      const { jobs, polls } = makeJobs(new InstantClock(), () => job(status, 4));
      await expect(jobs.wait(JOB_ID)).rejects.toMatchObject({
        name: 'JobFailedError',
        jobId: JOB_ID,
        job: { processed: 4 },
        message: `Job ${JOB_ID} ended as "${status}"; 4 of 10 links were processed`,
      });
      expect(polls).toHaveLength(1);
    },
  );

  it('asks a completed job five times again for results that are missing, then returns it as it is', async () => {
    const clock = new InstantClock();
    const { jobs, polls } = makeJobs(clock, () => ({
      ...job('completed', 4),
      results: resultsOf(4),
    }));
    expect(await jobs.wait(JOB_ID)).toMatchObject({ processed: 4, total: 10 });
    expect(polls).toHaveLength(6);
    // It backs off: a replica that lags behind by seconds is waited for.
    expect(clock.now()).toBeGreaterThan(500);
  });

  it('asks a completed job again whose items have neither codes nor errors yet', async () => {
    const bare = resultsOf(10).map(({ target_url }) => ({ target_url }));
    const { jobs, polls } = makeJobs(new InstantClock(), (_, poll) => ({
      ...job('completed', 10),
      results: poll < 3 ? bare : resultsOf(10),
    }));
    expect((await jobs.wait(JOB_ID)).results).toEqual(resultsOf(10));
    expect(polls).toHaveLength(3);
  });

  it('returns the results of a completed job that a replica shows later', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), (_, poll) => ({
      ...job('completed', 10),
      results: resultsOf(poll < 4 ? 3 : 10),
    }));
    expect((await jobs.wait(JOB_ID)).results).toHaveLength(10);
    expect(polls).toHaveLength(4);
  });

  it('asks for missing results no sooner than the service wants to be asked', async () => {
    const { jobs, polls, askForPollAfter } = makeJobs(new InstantClock(), (_, poll) => ({
      ...job('completed', 10),
      results: resultsOf(poll < 3 ? 3 : 10),
    }));
    askForPollAfter(30_000);
    await jobs.wait(JOB_ID);
    expect(polls.map(({ atMs }) => atMs)).toEqual([150, 30_150, 60_150]);
  });

  it('keeps polling a job that says neither how many links it has nor any result', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), (_, poll) =>
      poll < 3 ? job('queued', 0, 0) : job('completed', 10),
    );
    expect(await jobs.wait(JOB_ID)).toMatchObject({ status: 'completed' });
    expect(polls).toHaveLength(3);
  });

  it('knows how many results a completed job must have from the batch, where the job does not say', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), (_, poll) => ({
      ...job('completed', 0, 0),
      results: resultsOf(poll < 2 ? 0 : 10),
    }));
    expect((await jobs.wait(JOB_ID, { total: 10 })).results).toHaveLength(10);
    expect(polls).toHaveLength(2);
  });

  it('takes the results of a completed job at its deadline as they are', async () => {
    const partly = { ...job('completed', 4), results: resultsOf(4) };
    const { jobs, polls } = makeJobs(new InstantClock(), () => partly);
    await expect(jobs.wait(JOB_ID, { timeoutMs: 400 })).resolves.toMatchObject({ processed: 4 });
    expect(polls.filter(({ atMs }) => atMs === 400)).toHaveLength(1);
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
    expect(long.polls[0]?.options?.totalTimeoutMs).toBe(0);
  });

  it('bounds each poll by the deadline, and the last one by a second', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), () => job('processing'));
    await expect(jobs.wait(JOB_ID, { timeoutMs: 5000 })).rejects.toThrow();
    expect(polls[0]?.options?.totalTimeoutMs).toBe(4850);
    expect(polls.at(-1)?.options?.totalTimeoutMs).toBe(1000);
  });

  it('turns a poll that runs into the deadline into JobTimeoutError', async () => {
    const clock = new InstantClock();
    const timeout = new TimeoutError('slow', { outcome: 'unknown', timeoutMs: 1 });
    const { jobs } = makeJobs(clock, () => {
      void clock.delay(4850);
      throw timeout;
    });
    await expect(jobs.wait(JOB_ID, { timeoutMs: 5000 })).rejects.toMatchObject({
      name: 'JobTimeoutError',
      cause: timeout,
      job: undefined,
      message: expect.stringContaining('no poll succeeded'),
    });
  });

  const PASSING = [
    ...[408, 500, 502, 503, 504, 520, 522, 524, 529].map((status) =>
      createApiError({ message: `failed with ${status}`, status, headers: new Headers() }),
    ),
    createApiError({ message: 'wait', status: 429, headers: new Headers(), retryAfterMs: 20_000 }),
    new ConnectionError('lost', { outcome: 'unknown' }),
    new TimeoutError('slow', { outcome: 'unknown', timeoutMs: 1 }),
  ];

  it.each(PASSING)('survives a minute of polls that fail with: $message', async (error) => {
    const clock = new InstantClock();
    const { jobs, polls } = makeJobs(clock, (nowMs) => {
      if (nowMs > 1000 && nowMs < 61_000) throw error;
      return job(nowMs < 61_000 ? 'processing' : 'completed', 3);
    });
    await expect(jobs.wait(JOB_ID)).resolves.toMatchObject({ status: 'completed' });
    // With backoff: a minute takes few polls, and the end of the trouble is seen soon.
    expect(polls.length).toBeLessThanOrEqual(16);
    expect(clock.now()).toBeLessThanOrEqual(61_000 + 30_000);
  });

  it('says at its deadline why the last polls failed, and what was known before', async () => {
    const lost = new ConnectionError('lost', { outcome: 'unknown' });
    const { jobs } = makeJobs(new InstantClock(), (nowMs) => {
      if (nowMs > 1000) throw lost;
      return job('processing', 4);
    });
    await expect(jobs.wait(JOB_ID, { timeoutMs: 60_000 })).rejects.toMatchObject({
      name: 'JobTimeoutError',
      cause: lost,
      job: { processed: 4 },
    });
  });

  it('asks again for a job that it has seen, where a replica does not find it', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), (_, poll) => {
      const headers = new Headers();
      if (poll === 2) throw createApiError({ message: 'no', status: 404, headers });
      return job(poll < 3 ? 'processing' : 'completed', 10);
    });
    await expect(jobs.wait(JOB_ID)).resolves.toMatchObject({ status: 'completed' });
    expect(polls).toHaveLength(3);
  });

  it('counts failed polls, and those that do not find the job, from the last one that did', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), (_, poll) => {
      const headers = new Headers();
      if (poll % 2 === 0) throw createApiError({ message: 'no', status: 404, headers });
      return job(poll < 21 ? 'processing' : 'completed', 3);
    });
    await expect(jobs.wait(JOB_ID)).resolves.toMatchObject({ status: 'completed' });
    const failed = polls.filter((_, n) => n % 2 === 1);
    const waits = failed.map(({ atMs }, n) => Math.round(Number(polls[2 * n + 2]?.atMs) - atMs));
    expect(waits).toEqual(Array(10).fill(500));
  });

  it.each([
    [404, undefined],
    [401, undefined],
    [501, undefined],
    [429, 90_001],
  ])('ends at once with a %i that will not pass', async (status, retryAfterMs) => {
    const headers = new Headers();
    const error = createApiError({ message: 'no', status, headers, retryAfterMs });
    const { jobs, polls } = makeJobs(new InstantClock(), () => {
      throw error;
    });
    await expect(jobs.wait(JOB_ID)).rejects.toBe(error);
    expect(polls).toHaveLength(1);
  });

  it('takes a job with all of its results for done, whatever its status', async () => {
    const results = [{ target_url: 'a', code: 'c', short_url: 's' }];
    const { jobs, polls } = makeJobs(new InstantClock(), () => ({
      ...job('finished', 1, 1),
      results,
    }));
    expect(await jobs.wait(JOB_ID)).toMatchObject({ status: 'finished', results });
    expect(polls).toHaveLength(1);
  });

  it('polls when the service asks for it, and not a millisecond before', async () => {
    const clock = new FakeClock();
    const { jobs, known, polls, askForPollAfter } = makeJobs(clock, (_, poll) =>
      job(poll < 3 ? 'processing' : 'completed', 10),
    );
    known.accepted(JOB_ID, { acceptedAt: clock.now(), total: 10, retryAfterMs: 7000 });
    askForPollAfter(3000);
    const waiting = jobs.wait(JOB_ID);
    await clock.advance(6999);
    expect(polls).toHaveLength(0);
    await clock.advance(1);
    expect(polls).toHaveLength(1);
    await clock.advance(2999);
    expect(polls).toHaveLength(1);
    await clock.advance(1);
    expect(polls).toHaveLength(2);
    await clock.advance(3000);
    await expect(waiting).resolves.toMatchObject({ status: 'completed' });
    expect(polls).toHaveLength(3);
  });

  it('counts the first wait from the acceptance, and spins on no Retry-After of 0', async () => {
    const clock = new InstantClock();
    const { jobs, known, polls, askForPollAfter } = makeJobs(clock, (nowMs) =>
      job(nowMs < 12_000 ? 'processing' : 'completed'),
    );
    known.accepted(JOB_ID, { acceptedAt: clock.now(), total: 10, retryAfterMs: 7000 });
    askForPollAfter(0);
    await clock.delay(10_000);
    await jobs.wait(JOB_ID);
    expect(polls[0]?.atMs).toBe(10_000);
    expect(polls.length).toBeLessThanOrEqual(11);
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

  it('hands headers to each poll, but not its own deadline as that of an attempt', async () => {
    const { jobs, polls } = makeJobs(new InstantClock(), () => job('completed'));
    await jobs.wait(JOB_ID, { maxRetries: 2, headers: { a: 'b' }, timeoutMs: 7000 });
    expect(polls[0]?.options).toMatchObject({ headers: { a: 'b' } });
    expect(polls[0]?.options?.timeoutMs).toBeUndefined();
  });

  it('waits as long as a 503 of a poll asks for, and only so long for a 429 as is allowed', async () => {
    const clock = new InstantClock();
    const error = (status: number, retryAfterMs: number) =>
      createApiError({ message: 'no', status, headers: new Headers(), retryAfterMs });
    const answers = [error(503, 86_400_000), error(429, 90_000), error(429, 90_001)];
    const { jobs } = makeJobs(clock, () => {
      throw answers.shift();
    });
    await expect(jobs.wait(JOB_ID, { timeoutMs: 0 })).rejects.toMatchObject({
      retryAfterMs: 90_001,
    });
    expect(clock.now()).toBeGreaterThanOrEqual(86_400_000 + 90_000);
  });

  it.each(['failed', 'processing'])(
    'shows no API key in the job of an error, and changes nothing in the job itself (%s)',
    async (status) => {
      const failed = { ...job(status), results: [{ target_url: `https://a.example/${API_KEY}` }] };
      const { jobs } = makeJobs(new InstantClock(), () => failed);
      const seen: Job[] = [];
      const onProgress = (job: Job) => seen.push(job);
      const end = jobs.wait(JOB_ID, { onProgress, timeoutMs: 1_000 });
      await expect(end).rejects.toMatchObject({
        job: { results: [{ target_url: 'https://a.example/[API key]' }] },
      });
      expect(seen[0]?.results[0]?.target_url).toContain(API_KEY);
    },
  );

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

  it('learns nothing from a job whose polls were timed by the service', async () => {
    const clock = new InstantClock();
    const { jobs, polls, askForPollAfter } = makeJobs(clock, (_, poll) =>
      job(poll === 1 ? 'processing' : 'completed', poll === 1 ? 0 : 10),
    );
    askForPollAfter(60_000);
    await jobs.wait(JOB_ID, { total: 10 });
    askForPollAfter(undefined);
    const before = clock.now();
    await jobs.wait(JOB_ID, { total: 10 });
    expect((polls.at(-1)?.atMs ?? 0) - before).toBeLessThan(1_000);
  });

  it('does not take the time to read many results for a part of the job', async () => {
    const clock = new InstantClock();
    const { jobs, polls, takeToRead } = makeJobs(clock, () => job('completed', 10_000, 10_000));
    takeToRead(5_000);
    await jobs.wait(JOB_ID, { total: 10_000 });
    const startedAt = clock.now();
    await jobs.wait(JOB_ID, { total: 10_000 });
    expect(polls.map(({ atMs }) => atMs)).toEqual([150, startedAt + 75 * 1.05 + 50]);
  });

  it('knows the number of links of a batch of its own', async () => {
    const clock = new InstantClock();
    let startMs = 0;
    const { jobs, known, polls } = makeJobs(clock, (nowMs) => steady(3000, startMs)(nowMs));
    const perJob: number[] = [];
    for (let i = 0; i < 10; i += 1) {
      startMs = clock.now();
      const before = polls.length;
      known.accepted(JOB_ID, { acceptedAt: clock.now(), total: 10_000, retryAfterMs: undefined });
      await jobs.wait(JOB_ID);
      perJob.push(polls.length - before);
    }
    expect(Math.max(...perJob.slice(1))).toBeLessThanOrEqual(2);
  });

  it('knows them also when the batch is waited for again, after a wait that ended early', async () => {
    const doneInOtherWords = { ...job('done', 10, 0), results: resultsOf(10) };
    const { jobs, known } = makeJobs(new InstantClock(), (nowMs) =>
      nowMs < 5_000 ? job('queued', 0, 0) : doneInOtherWords,
    );
    known.accepted(JOB_ID, { acceptedAt: 0, total: 10, retryAfterMs: undefined });
    const late = { name: 'JobTimeoutError' };
    await expect(jobs.wait(JOB_ID, { timeoutMs: 1_000 })).rejects.toMatchObject(late);
    await expect(jobs.wait(JOB_ID, { timeoutMs: 60_000 })).resolves.toMatchObject({
      status: 'done',
    });
  });
});
