import { expect, test } from 'vitest';
import type { CreateRequest } from '../../store.ts';
import { sessionOn } from '../session.ts';
import { createIdempotently } from './idempotency.ts';

/** A session that takes every claim, and keeps the texts that it was given. */
function setUp() {
  const claimed: unknown[] = [];
  const session = sessionOn(async ({ text, values }) => {
    if (!text.includes('INSERT INTO idempotency_records')) return { rows: [], rowCount: 0 };
    const keys = values.find((value) => Array.isArray(value)) as string[];
    claimed.push(keys);
    return { rows: keys.map((key) => ({ key })) as never[], rowCount: keys.length };
  });
  return { session, claimed };
}

const request = (key: string) =>
  ({
    caller: { accountId: 'acc_1' },
    idempotency: { key, fingerprint: `of ${key}` },
    now: 0,
  }) as CreateRequest<unknown>;

test('keys are claimed in one order by every instance, however their requests arrive: else two instances wait for each other', async () => {
  const { session, claimed } = setUp();
  const create = async (requests: readonly CreateRequest<unknown>[]) =>
    requests.map(({ idempotency }) => ({ ok: true as const, value: idempotency?.key }));
  const arriving = ['k2', 'k10', 'k1', 'k2'].map(request);
  const outcomes = await createIdempotently(session, arriving, create);
  expect(claimed).toEqual([['k1', 'k10', 'k2']]);
  expect(outcomes.map((outcome) => outcome.ok && outcome.value)).toEqual(['k2', 'k10', 'k1', 'k2']);
});
