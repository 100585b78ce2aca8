import { expect, test } from 'vitest';
import { validateEntries } from './validate-link.ts';

const rules = {
  ownedDomains: new Set<string>(),
  isOwnHost: () => false,
  isAllowedHost: () => true,
};

test('others get their turn while a large batch is checked', async () => {
  const links = Array.from({ length: 10_000 }, (_, n) => ({
    target_url: `https://example.com/${n}`,
  }));
  let turns = 0;
  let isChecking = true;
  const count = () => {
    turns += 1;
    if (isChecking) setImmediate(count);
  };
  setImmediate(count);
  const checked = await validateEntries({ domain_id: undefined, links }, rules);
  isChecking = false;
  expect(checked).toMatchObject({ ok: true, value: { length: 10_000 } });
  expect(turns).toBeGreaterThanOrEqual(10);
});

test('a hopeless batch is given up at the hundredth finding', async () => {
  const links = Array.from({ length: 10_000 }, () => ({ target_url: 'x' }));
  const checked = await validateEntries({ domain_id: undefined, links }, rules);
  expect(checked).toMatchObject({ ok: false, details: { length: 100 } });
});
