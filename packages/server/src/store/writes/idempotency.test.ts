import { expect, test } from 'vitest';
import { read, sql } from '../queries/reading.ts';
import type { CreateRequest } from '../store.ts';
import { createIdempotently } from './idempotency.ts';

const engine = {
  isAlone: false,
  table: (_: unknown, rows: readonly object[]) => sql`${JSON.stringify(rows)}`,
};

const request = (key: string) =>
  ({
    caller: { accountId: 'acc_1' },
    idempotency: { key, fingerprint: `of ${key}` },
    now: 0,
  }) as CreateRequest<unknown>;

test('keys are claimed in one order by every instance, however their requests arrive: else two instances wait for each other', () => {
  const claims: string[][] = [];
  const answers = new Map<string, string>();
  const rowsIn = (values: readonly unknown[]): { key: string; answer: string }[] =>
    JSON.parse(String(values.find((value) => String(value).startsWith('['))));
  const creating = createIdempotently(
    engine,
    ['k2', 'k10', 'k1', 'k2'].map(request),
    function* (requests) {
      return requests.map(({ idempotency }) => ({
        ok: true as const,
        value: idempotency?.key,
        replayed: false,
      }));
    },
  );
  const outcomes = read(creating, ({ text, values }) => {
    const rows = rowsIn(values);
    if (text.includes('RETURNING key')) {
      claims.push(rows.map(({ key }) => key));
    } else if (text.includes('INSERT'))
      for (const { key, answer } of rows) answers.set(key, answer);
    return rows.map(({ key }) => {
      return { key, fingerprint: `of ${key}`, answer: answers.get(key) ?? '' };
    });
  });
  // The second request of a key gets the response of the first.
  expect(claims).toEqual([['k1', 'k10', 'k2'], ['k2']]);
  expect(outcomes.map((outcome) => outcome.ok && outcome.value)).toEqual(['k2', 'k10', 'k1', 'k2']);
});
