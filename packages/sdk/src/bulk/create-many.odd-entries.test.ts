import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { badRequest, FakeService, links } from '../../test/fake-service.ts';
import { outcomes, runCreateMany } from '../../test/run-create-many.ts';
import { InvalidOptionError } from '../errors/call-errors.ts';
import type { CreateLinkBody } from '../wire/link.ts';
import type { BatchRecord, CreateManyOptions } from './create-many.ts';
import { createMany } from './create-many.ts';

/** An entry of whatever kind, as JavaScript lets it through. */
const odd = (entry: unknown) => entry as CreateLinkBody;

const target_url = 'https://example.com/odd';

/** Gives the results in the opposite order, so that each has to be found by its target. */
class BackwardService extends FakeService {
  constructor() {
    super();
    const { postBatch } = this;
    Object.assign(this, {
      postBatch: async (...args: Parameters<typeof postBatch>) => {
        const response = await postBatch(...args);
        const results = 'results' in response ? response.results.toReversed() : [];
        return { ...response, results };
      },
    });
  }
}

describe('an entry of createMany that is no link', () => {
  it.each([
    ['a URL', new URL(target_url), target_url],
    ['a list', [target_url], 'a list'],
    ['a Date', new Date(0), String(new Date(0))],
    ['a piece of a file', new TextEncoder().encode(target_url), 'bytes'],
    ['a link that was not awaited', Promise.resolve({ target_url }), '[object Promise]'],
    // As in Jest, where what a test makes is of other classes than what is built in.
    ['a promise of another realm', runInNewContext('Promise.resolve({})'), '[object Promise]'],
    ['bytes of another realm', runInNewContext('new Uint8Array(2)'), 'bytes'],
  ])('ends the run with words about what is expected: %s', async (_, entry, shown) => {
    const service = new FakeService();
    const { items, error } = await runCreateMany(service, [...links(2), odd(entry), ...links(1)]);
    expect(error).toBeInstanceOf(InvalidOptionError);
    const message = `source[2] must be a link, such as { target_url }, not ${shown}`;
    expect(error).toMatchObject({ message });
    expect(outcomes(items)).toBe('cc');
    expect(service.bodies).toEqual([{ links: links(2) }]);
  });

  it('is not one whose target is a URL, nor one that gives its fields by toJSON', async () => {
    const service = new FakeService();
    const given = [{ target_url: new URL(target_url) }, { toJSON: () => ({ target_url: 'b' }) }];
    const { items } = await runCreateMany(service, given.map(odd));
    expect(outcomes(items)).toBe('cc');
    expect(service.bodies).toEqual([{ links: [{ target_url }, { target_url: 'b' }] }]);
  });
});

describe('an entry of createMany', () => {
  it('gets the result of the target that was sent, whatever its own field says', async () => {
    let reads = 0;
    const source = [
      { target_url: 'https://b.example/', toJSON: () => ({ target_url: 'https://a.example/' }) },
      { target_url: 'https://b.example/' },
      {
        get target_url() {
          reads += 1;
          return `https://c.example/${reads}`;
        },
      },
    ];
    const { items, error } = await runCreateMany(new BackwardService(), source.map(odd));
    expect(error).toBeUndefined();
    expect(items.map((item) => item.outcome === 'created' && item.code)).toEqual([
      'httpsaexample',
      'httpsbexample',
      'httpscexample1',
    ]);
  });

  it('gets its recorded result by the target that it gives by toJSON', async () => {
    const results = () =>
      ['b', 'a'].map((code) => ({
        target_url: `https://${code}.example/`,
        code,
        short_url: `s/${code}`,
      }));
    const source = ['a', 'b'].map((name) => ({
      target_url: 'https://own.example/',
      toJSON: () => ({ target_url: `https://${name}.example/` }),
    }));
    const resume: BatchRecord[] = [{ first: 0, count: 2, state: 'completed', results }];
    const { items } = await runCreateMany(new FakeService(), source.map(odd), { resume });
    expect(items).toMatchObject([{ code: 'a' }, { code: 'b' }]);
  });

  it.each([
    [
      'a getter that throws',
      {
        get target_url() {
          throw new Error('mine');
        },
      },
    ],
    ['a BigInt', { target_url: 5n }],
  ])('that can not be written is reported as JSON can hold it: %s', async (_, entry) => {
    const journal: string[] = [];
    const { items, error } = await runCreateMany(new FakeService(), [...links(1), odd(entry)], {
      onBatch: (event) => void journal.push(JSON.stringify(event)),
    });
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('cf');
    expect(journal.find((line) => line.includes('"reduced"'))).toContain('{"target_url":""');
  });

  it('that the service refuses is reported with the target that was sent', async () => {
    const service = new FakeService();
    service.onBatch = (n) => {
      if (n === 0) throw badRequest([{ index: 0, field: 'title', message: 'no' }]);
    };
    const results: unknown[] = [];
    let reads = 0;
    const once = {
      get target_url() {
        reads += 1;
        if (reads > 1) throw new Error('mine');
        return target_url;
      },
    };
    await runCreateMany(service, [odd(once), ...links(1)], {
      onBatch: (event) => void (event.type === 'completed' && results.push(...event.results)),
    });
    expect(results[0]).toEqual({ target_url, error: 'title: no' });
  });

  it('fails alone where its tags are an empty text', async () => {
    const service = new FakeService();
    const entry = { target_url, tags: '' };
    const { items } = await runCreateMany(service, [...links(1), odd(entry)]);
    expect(outcomes(items)).toBe('cf');
    expect(items[1]).toMatchObject({ error: expect.stringContaining('tags must be a list') });
  });

  it('has no field that is null, and neither has the whole batch', async () => {
    const service = new FakeService();
    const nothing = { title: null, domain_id: null, redirect_type: null, tags: null };
    const source = [odd({ target_url, ...nothing })];
    const { items } = await runCreateMany(service, source, { domain_id: null });
    expect(outcomes(items)).toBe('c');
    expect(service.bodies).toEqual([{ links: [{ target_url }] }]);
  });
});

it.each<[string, unknown]>([
  ['maxRetries', { maxRetries: 1.5 }],
  ['timeoutMs', { timeoutMs: -1 }],
  ['headers', { headers: { 'content-length': '5' } }],
  ['resume', { resume: [{ first: 0, count: 1, state: 'done' }] }],
])('createMany refuses wrong %s at the call', (option, options) => {
  const call = () => createMany(new FakeService(), links(1), options as CreateManyOptions);
  expect(call).toThrow(InvalidOptionError);
  expect(call).toThrow(option);
});

describe('the generator of createMany', () => {
  it('gives items in order to calls that wait for nothing, and ends all of them', async () => {
    const items = createMany(new FakeService(), links(5), { batchSize: 2 });
    const steps = await Promise.all(Array.from({ length: 8 }, () => items.next()));
    const indexes = steps.map(({ done, value }) => (done ? 'done' : value?.index));
    expect(indexes).toEqual([0, 1, 2, 3, 4, 'done', 'done', 'done']);
  });

  it('gives nothing more once it was left, also of a batch that has settled', async () => {
    const items = createMany(new FakeService(), links(5));
    expect(await items.next()).toMatchObject({ value: { index: 0 } });
    expect(await items.next()).toMatchObject({ value: { index: 1 } });
    expect(await items.return()).toEqual({ done: true, value: undefined });
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });
});
