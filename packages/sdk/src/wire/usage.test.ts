import { expect, test } from 'vitest';
import { readUsage } from './usage.ts';

test('a usage of which everything is missing has defaults', () => {
  const window = { used: 0, limit: null, resets_at: '' };
  expect(readUsage({})).toEqual({
    data: {
      plan: '',
      requests: { minute: window, day: window, month: window },
      links: { used: 0, limit: null },
      api_keys: { used: 0, limit: null },
      batch_size: null,
      keys: [],
    },
  });
});

test('an odd key takes nothing from the others, and what is there is kept', () => {
  const keys = [{ id: 1, requests: { day: 3 }, history: null }, 'odd', { id: 'k2' }];
  const usage = readUsage({ plan: 'pro', links: { used: 5, limit: 10 }, batch_size: 100, keys });
  expect(usage).toMatchObject({
    data: {
      plan: 'pro',
      links: { used: 5, limit: 10 },
      batch_size: 100,
      keys: [
        { id: '1', requests: { minute: 0, day: 3, month: 0 }, history: [] },
        { id: '', history: [] },
        { id: 'k2', permissions: [] },
      ],
    },
  });
});

test('a limit that is an empty text is none, and not 0', () => {
  const usage = readUsage({ links: { used: '5', limit: '' }, batch_size: ' ' });
  expect(usage).toMatchObject({ data: { links: { used: 5, limit: null }, batch_size: null } });
});
