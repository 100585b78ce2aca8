import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeService, links } from '../../test/fake-service.ts';
import { type Picky, pickyService } from '../../test/picky-service.ts';
import { lives, outcomes, runCreateMany } from '../../test/run-create-many.ts';
import type { CreateLinkBody } from '../wire/link.ts';
import { derivedKey } from './batch-request.ts';
import type { BatchEvent, BatchRecord } from './create-many.ts';

describe('createMany: idempotency keys of batches with bad entries', () => {
  const idempotencyKey = ({ first, count }: { first: number; count: number }) =>
    `${first}-${count}`;

  /** Runs a picky service that replays what it has for a key, and checks that no key has two bodies. */
  function replaying(picky: Picky, onAnswer = () => {}) {
    const service = pickyService(picky);
    const { postBatch } = service;
    const bodies = new Map<string, string>();
    const answers = new Map<string, unknown>();
    Object.assign(service, {
      postBatch: async (...args: Parameters<typeof postBatch>) => {
        const [{ json: body }, { idempotency }, watch] = args;
        const key = String(idempotency);
        expect(bodies.get(key) ?? body).toBe(body);
        bodies.set(key, body);
        if (answers.has(key)) {
          await watch.beforeSend();
          return answers.get(key);
        }
        const answer = await postBatch(...args);
        answers.set(key, answer);
        onAnswer();
        args[1].signal?.throwIfAborted();
        return answer;
      },
    });
    return { service, bodies };
  }

  it('are derived from the key of the batch and the entries that are left out', async () => {
    const { service, bodies } = replaying({
      isBad: (position) => [2, 5].includes(position),
      details: 1,
    });
    await runCreateMany(service, links(8), { idempotencyKey });
    expect([...bodies.keys()]).toEqual(['0-8', derivedKey('0-8', [2]), derivedKey('0-8', [2, 5])]);
  });

  it('are the same in a later run, so that a batch that was lost is not created twice', async () => {
    const bad = fc.uniqueArray(fc.nat(19), { minLength: 1, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(bad, fc.constantFrom(0, 1, 100), async (positions, details) => {
        const isBad = (position: number) => positions.includes(position);
        const killed = new AbortController();
        const { service } = replaying({ isBad, details }, () => killed.abort());
        const journal = new Map<string, BatchRecord>();
        // The process is killed: nothing of what follows `sent` reaches the journal, and the response is lost.
        const onBatch = ({ first, count, type }: BatchEvent) => {
          if (type === 'sent') journal.set(`${first}`, { first, count, state: 'planned' });
          if (type === 'resized') journal.delete(`${first}`);
        };
        const { signal } = killed;
        await runCreateMany(service, links(20), { idempotencyKey, onBatch, signal });
        const resume = [...journal.values()];
        const again = { idempotencyKey, resume };
        const { items, error } = await runCreateMany(service, links(20), again);
        expect(error).toBeUndefined();
        for (const { index, outcome, input } of items) {
          expect(outcome).toBe(isBad(index) ? 'failed' : 'created');
          expect(service.created.get(input.target_url) ?? 0).toBe(isBad(index) ? 0 : 1);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('give the links that are not in the job of an earlier run as failed, not as unknown', async () => {
    const service = pickyService({ isBad: (position) => position === 1 });
    service.syncLinks = 0;
    const first = await runCreateMany(service, links(4));
    const accepted = first.events.find((event) => event.type === 'accepted');
    const record = {
      first: 0,
      count: 4,
      state: 'accepted',
      job_id: accepted?.job_id ?? '',
    } as const;
    const { items } = await runCreateMany(service, links(4), { resume: [record] });
    expect(outcomes(items)).toBe('cfcc');
    expect(items[1]).toMatchObject({ error: expect.stringContaining('refused this link') });
  });
});

describe('createMany: batches that can not be written', () => {
  const unwritable = { target_url: 'https://example.com/1', title: 5n as unknown as string };

  const withTags = (tags: unknown) => ({ ...links(1)[0], tags }) as CreateLinkBody;

  it.each([
    ['a BigInt', unwritable, /BigInt/],
    ['nested tags', withTags([['a', 'b']]), /tags must be a list of strings/],
    [
      'an object for a tag',
      withTags([{ email: 'me@example.com' }]),
      /tags must be a list of strings/,
    ],
    ['a number for a tag', withTags(['a', 7]), /tags must be a list of strings/],
    ['one text for its tags', withTags('a'), /tags must be a list of strings/],
  ])('a link with %s is not sent and fails alone', async (_, bad, message) => {
    const service = new FakeService();
    const source = [...links(3), bad, ...links(3, 4), bad];
    const { items, events, error } = await runCreateMany(service, source, { batchSize: 4 });
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('cccfcccf');
    expect(items[3]).toMatchObject({
      error: expect.stringMatching(/^source\[3\] must be data that can be written as JSON: /),
      cause: { name: 'InvalidOptionError', message },
    });
    expect(service.bodies.map(({ links: sent }) => sent)).toEqual([links(3), links(3, 4)]);
    expect(lives(events)).toContain('0+4 completed');
  });

  it('tells all of them in one pass, and ends the run when nothing else comes', async () => {
    const service = new FakeService();
    const source = Array<CreateLinkBody>(2_000).fill(unwritable);
    const { error } = await runCreateMany(service, source, { batchSize: 1_000 });
    expect(error).toMatchObject({ name: 'InvalidOptionError', message: /source\[0\]/ });
    expect(service.asked).toEqual([]);
  });

  it('fail alone, also where a link could be written the second time', async () => {
    const service = new FakeService();
    let reads = 0;
    const changing = {
      target_url: 'https://example.com/',
      get title() {
        reads += 1;
        if (reads === 1) throw new Error('not yet');
        return 'ready';
      },
    };
    const { items, error } = await runCreateMany(service, [...links(1), changing]);
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('cf');
    expect(items[1]).toMatchObject({ error: expect.stringContaining('not yet') });
    expect(service.bodies).toEqual([{ links: links(1) }]);
  });

  it('are not sent when idempotencyKey throws, and the run ends with that error', async () => {
    const service = new FakeService();
    const mine = new Error('no key');
    const { items, events, error } = await runCreateMany(service, links(2), {
      idempotencyKey: () => {
        throw mine;
      },
    });
    expect(error).toBe(mine);
    expect(items).toEqual([]);
    expect(lives(events)).toEqual(['0+2 planned', '0+2 unsent']);
    expect(service.asked).toEqual([]);
  });
});
