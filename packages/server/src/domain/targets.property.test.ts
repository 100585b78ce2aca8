import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkTarget, locationOf } from './targets.ts';

const anyTarget = fc.oneof(
  fc.webUrl({ withFragments: true, withQueryParameters: true }),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'binary' }).map((rest) => `https://${rest}`),
  fc.string({ unit: 'binary' }).map((rest) => `https://example.com/${rest}`),
);

const anyHost = { isOwnHost: () => false, isAllowedHost: () => true };

test('whatever is accepted makes a Location that a header can carry and that leads to the same place', () => {
  fc.assert(
    fc.property(anyTarget, (target) => {
      if (checkTarget(target, anyHost) !== undefined) return;
      const location = locationOf(target);
      expect(location).toMatch(/^[\x21-\x7e]+$/);
      expect(new URL(location).href).toBe(new URL(target).href);
      expect(new URL(location).protocol).toMatch(/^https?:$/);
      expect(new Headers({ Location: location }).get('Location')).toBe(location);
    }),
    { numRuns: 2_000 },
  );
});
