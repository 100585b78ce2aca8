import {
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  PermissionError,
  PlanLimitError,
  RateLimitError,
  ServerError,
  Shortlink,
} from '@shortlink/sdk';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createService, type Service } from '../src/service.ts';
import { StoreError } from '../src/store/store-error.ts';
import { Fixture, PUBLIC_URL, TARGET } from './fixture.ts';

/** The client's `fetch` is the service itself: what is on the wire, without a socket. */
let app: Fixture;
let service: Service;
const client = (apiKey: string, maxRetries = 0) =>
  new Shortlink({
    apiKey,
    baseUrl: PUBLIC_URL,
    maxRetries,
    fetch: async (input, init) => service.fetch(new Request(input, init)),
  });

beforeEach(async () => {
  app = await Fixture.open();
  service = createService({ store: app.store, publicUrl: PUBLIC_URL });
  await service.start();
});
afterEach(() => service.stop());

const links = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ target_url: `${TARGET}/${n}` }));

describe('the client understands the service', () => {
  test('a link, a batch and a job', async () => {
    const shortlink = client(await app.caller());
    const link = await shortlink.links.create({ target_url: TARGET, tags: ['docs'] });
    expect(link).toMatchObject({ target_url: TARGET, tags: ['docs'], is_active: true });
    expect(await shortlink.links.createBatch({ links: links(3) })).toMatchObject({
      status: 'completed',
      total: 3,
    });
    const batch = await shortlink.links.createBatch({ links: links(600) });
    if (batch.status !== 'processing') throw new Error(batch.status);
    const job = await shortlink.jobs.wait(batch.job_id);
    expect(job).toMatchObject({ status: 'completed', processed: 600 });
    expect(job.results[599]?.target_url).toBe(`${TARGET}/599`);
    const usage = await shortlink.usage.retrieve();
    expect(usage.links.used).toBe(604);
    expect(usage.keys[0]?.recent_refusals).toEqual([]);
  });

  test('each refusal as its error', async () => {
    const good = client(await app.caller());
    const reading = client(await app.key(await app.account(), 'analytics:read'));
    const limited = client(await app.caller('custom', { requests_per_minute: 0 }));
    const full = client(await app.caller('custom', { links: 0 }));
    const create = (shortlink: Shortlink, target_url = TARGET) =>
      shortlink.links.create({ target_url });
    await expect(create(good, 'ftp://x')).rejects.toThrow(BadRequestError);
    await expect(create(client('sl_wrong'))).rejects.toThrow(AuthenticationError);
    await expect(create(reading)).rejects.toThrow(PermissionError);
    await expect(create(limited)).rejects.toThrow(RateLimitError);
    await expect(create(full)).rejects.toMatchObject({ limit: 'links', used: 0, allowed: 0 });
    await expect(create(full)).rejects.toThrow(PlanLimitError);
    await expect(good.jobs.retrieve('0190a000-0000-7000-8000-000000000000')).rejects.toThrow(
      NotFoundError,
    );
  });
});

describe('a create whose outcome is unknown is sent once, a rejected one is sent again', () => {
  const failTimes = (reason: 'outcome_unknown' | 'full') => {
    const createLink = app.store.createLink.bind(app.store);
    let calls = 0;
    app.store.createLink = async (request) => {
      calls += 1;
      if (calls === 1) throw new StoreError(reason, 'broken');
      return createLink(request);
    };
    return () => calls;
  };

  test('500 after a lost commit', async () => {
    const calls = failTimes('outcome_unknown');
    const creating = client(await app.caller(), 3).links.create({ target_url: TARGET });
    await expect(creating).rejects.toThrow(ServerError);
    expect(calls()).toBe(1);
  });

  test('503 with Retry-After', async () => {
    const calls = failTimes('full');
    await client(await app.caller(), 3).links.create({ target_url: TARGET });
    expect(calls()).toBe(2);
  });
});
