import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConnectionError, Shortlink } from '@shortlink/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BatchRecorder } from './batch-recorder.ts';
import { Journal } from './journal/journal.ts';
import { resumeFrom } from './journal/resume.ts';

const AT = '2026-11-20T10:00:00.000Z';
const LINKS = [{ target_url: 'https://example.com/a' }, { target_url: 'https://example.com/b' }];
const RANGE = { first: 0, count: 2 };
const policy = { onUnknown: 'stop', idempotency: true, wallClock: Date.parse(AT) } as const;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shortlink-recorder-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const openJournal = () =>
  Journal.open({
    path: join(folder, 'journal'),
    identity: {
      input: { size: 1, sha256: 'a' },
      settings: {},
      target: { baseUrl: 'https://go.example.com', keyFingerprint: 'k' },
    },
    links: LINKS.length,
    inputName: 'links.csv',
    restart: false,
    at: AT,
  });

const recorderOf = (journal: Journal) =>
  new BatchRecorder({
    journal,
    deps: { onEvent: () => {} },
    total: LINKS.length,
    idempotency: true,
    wallClock: () => Date.parse(AT),
    checkInput: async () => {},
    targetAt: (index) => LINKS[index]?.target_url,
    onUnknown: () => {},
  });

/** Runs the import of {@link LINKS} with the real client against `fetch`. */
async function send(journal: Journal, fetch: typeof globalThis.fetch) {
  const recorder = recorderOf(journal);
  const client = new Shortlink({ apiKey: 'k', baseUrl: 'https://go.example.com', fetch });
  const { records } = resumeFrom(journal, policy);
  const items = client.links.createMany(LINKS, {
    resume: records,
    maxRetries: 0,
    onBatch: (event) => recorder.onBatch(event),
    idempotencyKey: (range) => recorder.idempotencyKey(range),
  });
  for await (const _ of items);
}

const lose: typeof globalThis.fetch = () => Promise.reject(new TypeError('Failed to fetch'));

describe('BatchRecorder', () => {
  it('has the key on disk that the request carries, before it is sent, and again in the next run', async () => {
    const keys: (string | null)[] = [];
    const record =
      (journal: Journal): typeof globalThis.fetch =>
      async (input, init) => {
        const known = journal.get(RANGE);
        expect(known?.state).toBe('sent');
        const key = new Request(input, init).headers.get('idempotency-key');
        expect(known).toMatchObject({ key });
        keys.push(key);
        return lose(input, init);
      };
    const first = await openJournal();
    await send(first, record(first));
    await first.close();
    const second = await openJournal();
    await send(second, record(second));
    await second.close();
    expect(keys).toHaveLength(2);
    expect(keys[0]).toMatch(/^[\w-]{36}$/);
    expect(keys[1]).toBe(keys[0]);
  });

  it('does not free a batch that an earlier run may have sent, when this run ends before sending it', async () => {
    const first = await openJournal();
    await send(first, lose);
    await first.close();
    const second = await openJournal();
    const recorder = recorderOf(second);
    await recorder.onBatch({ ...RANGE, type: 'planned' });
    const error = new ConnectionError('the run ended', { outcome: 'not-sent' });
    await recorder.onBatch({ ...RANGE, type: 'unsent', error });
    expect(second.get(RANGE)?.state).toBe('unknown');
    expect(resumeFrom(second, policy).records).toEqual([{ ...RANGE, state: 'planned' }]);
    await second.close();
  });

  it('frees a batch that this run sent and the service refused', async () => {
    const journal = await openJournal();
    const refuse = async () => Response.json({ error: 'wait' }, { status: 429 });
    await expect(send(journal, refuse)).rejects.toThrow('wait');
    expect(journal.get(RANGE)).toBeUndefined();
    await journal.close();
  });
});
