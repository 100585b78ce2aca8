import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter, anyUrl } from '../../../tools/test/any-text.ts';
import { ownHostMatcher } from './hostnames.ts';
import { checkTarget, locationOf } from './targets.ts';

const anyTarget = fc.oneof(
  anyUrl,
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: anyCharacter }).map((rest) => `https://${rest}`),
  fc.string({ unit: anyCharacter }).map((rest) => `https://example.com/${rest}`),
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

const origin = fc.constantFrom(
  'https://example.com',
  'https://example.com:8443',
  'https://example.com:99999',
  'http://sho.rt',
  'http://sho.rt:8080',
  'https://SHO.rt',
  'https://user:secret@example.com',
  'https://example.com\\@sho.rt',
);
const path = fc.oneof(
  fc.webPath(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom('', '.', '?q', '#f', ':80', '@sho.rt', '\\@sho.rt', ' ', '/a b', '/ü'),
);

test('the targets of a batch are judged like each of them alone', () => {
  const rules = { isOwnHost: ownHostMatcher(['sho.rt']), isAllowedHost: () => true };
  const targets = fc.array(fc.tuple(origin, path).map((parts) => parts.join('')));
  fc.assert(
    fc.property(targets, (batch) => {
      const ofBatch = { ...rules, fineOrigins: new Set<string>() };
      expect(batch.map((target) => checkTarget(target, ofBatch))).toEqual(
        batch.map((target) => checkTarget(target, rules)),
      );
    }),
    { numRuns: 1_000 },
  );
});
