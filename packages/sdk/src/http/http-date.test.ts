import { describe, expect, it } from 'vitest';
import { parseHttpDate } from './http-date.ts';

const NOW = Date.UTC(2026, 10, 20);
const BIRTHDAY = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('parseHttpDate', () => {
  it.each([
    ['IMF-fixdate', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['RFC 850', 'Sunday, 06-Nov-94 08:49:37 GMT'],
    ['asctime, which is UTC whatever the local zone', 'Sun Nov  6 08:49:37 1994'],
    ['lower case', 'sun, 06 nov 1994 08:49:37 gmt'],
  ])('reads %s', (_, text) => {
    expect(parseHttpDate(text, NOW)).toBe(BIRTHDAY);
  });

  it('takes a two-digit year up to 50 years ahead for the future, and beyond for the past', () => {
    expect(parseHttpDate('Friday, 20-Nov-76 00:00:00 GMT', NOW)).toBe(Date.UTC(2076, 10, 20));
    expect(parseHttpDate('Sunday, 20-Nov-77 00:00:00 GMT', NOW)).toBe(Date.UTC(1977, 10, 20));
  });

  it('reads 29 February of a leap year and a leap second', () => {
    expect(parseHttpDate('Tue, 29 Feb 2028 00:00:00 GMT', NOW)).toBe(Date.UTC(2028, 1, 29));
    expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', NOW)).toBe(Date.UTC(2017, 0, 1));
  });

  it.each([
    '',
    'soon',
    '2026-11-20T00:00:00Z',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 +0100',
    'Sun, 31 Feb 2027 08:49:37 GMT',
    'Mon, 29 Feb 2027 08:49:37 GMT',
    'Sun, 06 Foo 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:00 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sun Nov 06 08:49:37 1994 GMT',
  ])('refuses %j', (text) => {
    expect(parseHttpDate(text, NOW)).toBeUndefined();
  });
});
