import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { parseHttpDate, parseRetryAfter } from './response-headers.ts';

afterEach(() => vi.unstubAllEnvs());

const NOW = Date.UTC(2026, 10, 20, 12, 0, 0);
const inSeconds = (seconds: number, from = NOW) => new Date(from + seconds * 1000).toUTCString();
const parse = (value: string, date?: string) =>
  parseRetryAfter(new Headers({ 'retry-after': value, ...(date !== undefined && { date }) }), NOW);

describe('parseRetryAfter', () => {
  it.each([
    ['0', 0],
    ['1', 1000],
    ['1.5', 1500],
    ['0.0001', 1],
    [' 7 ', 7000],
    ['86400', 86_400_000],
    [String(2 ** 31), 2 ** 31 * 1000],
    ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ])('reads %j as seconds', (value, ms) => {
    expect(parse(value)).toBe(ms);
  });

  it.each([
    'soon',
    '-5',
    '',
    '1e3',
    '0x10',
    '1,5',
    '1.',
    '.5',
    '1s',
    '120, 120',
    'NaN',
    'Infinity',
  ])('does not read %j', (value) => {
    expect(parse(value)).toBeUndefined();
  });

  it('is undefined without the header', () => {
    expect(parseRetryAfter(new Headers(), NOW)).toBeUndefined();
  });

  it('reads a date against the local time', () => {
    expect(parse(inSeconds(90))).toBe(90_000);
  });

  it('reads a past date as no wait', () => {
    expect(parse(inSeconds(-90))).toBe(0);
  });

  it("reads a date against the answer's own Date, so that a wrong clock does no harm", () => {
    const serverNow = NOW + 3_600_000;
    expect(parse(inSeconds(90, serverNow), inSeconds(0, serverNow))).toBe(90_000);
    expect(parse(inSeconds(90, NOW - 3_600_000), inSeconds(-3600))).toBe(90_000);
  });

  it('reads a date against the local time where the Date header is broken', () => {
    expect(parse(inSeconds(90), 'yesterday')).toBe(90_000);
  });

  it("reads headers of the caller's own `fetch`, which may keep the spaces around a value", () => {
    const date = ` ${inSeconds(-3600)} `;
    const values: Record<string, string> = {
      'retry-after': ` ${inSeconds(90, NOW - 3_600_000)} `,
      date,
    };
    expect(parseRetryAfter({ get: (name) => values[name] ?? null }, NOW)).toBe(90_000);
  });

  it('reads every whole number of seconds exactly', () => {
    fc.assert(
      fc.property(fc.nat(), (seconds) => {
        expect(parse(String(seconds))).toBe(seconds * 1000);
      }),
    );
  });

  it('never comes back early for a decimal', () => {
    fc.assert(
      fc.property(fc.nat(100_000), fc.nat(999), (whole, thousandths) => {
        const text = `${whole}.${String(thousandths).padStart(3, '0')}`;
        const exact = whole * 1000 + thousandths;
        // 4096.662 * 1000 is a hair above 4096662, and a wait is rounded up.
        expect([exact, exact + 1]).toContain(parse(text));
      }),
    );
  });

  it('reads every date it is given, whatever the clocks say', () => {
    const second = fc.integer({ min: 0, max: 4_000_000_000 });
    fc.assert(
      fc.property(second, second, (server, target) => {
        const date = new Date(server * 1000).toUTCString();
        const wait = parse(new Date(target * 1000).toUTCString(), date);
        expect(wait).toBe(Math.max(0, target - server) * 1000);
      }),
    );
  });

  it('gives undefined or a whole number of 0 or more for any text', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0123456789.,:- SunGMTov') });
    fc.assert(
      fc.property(text, (value) => {
        const wait = parse(value);
        expect(wait === undefined || (Number.isSafeInteger(wait) && wait >= 0)).toBe(true);
      }),
    );
  });
});

const BIRTHDAY = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('parseHttpDate', () => {
  it.each([
    ['IMF-fixdate', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['RFC 850', 'Sunday, 06-Nov-94 08:49:37 GMT'],
    ['asctime, which is UTC whatever the local zone', 'Sun Nov  6 08:49:37 1994'],
    ['lower case', 'sun, 06 nov 1994 08:49:37 gmt'],
  ])('reads %s', (_, text) => {
    for (const zone of ['UTC', 'America/New_York']) {
      vi.stubEnv('TZ', zone);
      expect(parseHttpDate(text)).toBe(BIRTHDAY);
    }
  });

  it('reads 29 February of a leap year', () => {
    expect(parseHttpDate('Tue, 29 Feb 2028 00:00:00 GMT')).toBe(Date.UTC(2028, 1, 29));
  });

  it.each([
    '',
    'soon',
    '2026-11-20T00:00:00Z',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 +0100',
    'Sun, 06 Foo 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 25:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:00 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sun Nov 06 08:49:37 1994 GMT',
  ])('refuses %j', (text) => {
    expect(parseHttpDate(text)).toBeUndefined();
  });
});
