import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { StoreError } from '../src/store/store-error.ts';
import { Fixture, LINKS, TARGET } from './fixture.ts';

/** What browsers send when a person follows a link. */
const BROWSER = {
  headers: { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' },
};

let app: Fixture;
let disabled: string;
beforeEach(() => open());

async function open(options: { rootUrl?: string; notFoundUrl?: string } = {}): Promise<void> {
  app = await Fixture.open(options);
  const { json } = await app.post(await app.caller(), LINKS, { target_url: TARGET });
  await app.store.setLinkActive(json.code, false);
  disabled = `/${json.code}`;
}

describe('a person in a browser', () => {
  test('reads a page where a program gets JSON', async () => {
    const words = {
      '/': /short-link service/,
      '/abcdefg': /not found/,
      [disabled]: /switched off/,
    };
    for (const [path, text] of Object.entries(words)) {
      const page = await app.send(path, BROWSER);
      expect(page.headers.get('content-type')).toBe('text/html; charset=UTF-8');
      expect(page.text).toMatch(text);
      const program = await app.send(path);
      expect(program.json.code).toBe(path === disabled ? 'gone' : 'not_found');
      for (const { headers } of [page, program]) {
        expect(headers.get('vary')).toBe('Accept');
        expect(headers.get('cache-control') ?? 'private').toContain('private');
        expect(headers.get('x-request-id')).toBeTruthy();
      }
    }
  });

  test('gets the status of the link, also for HEAD, and 200 for the root', async () => {
    for (const method of ['GET', 'HEAD']) {
      expect((await app.send('/', { ...BROWSER, method })).status).toBe(200);
      expect((await app.send('/abcdefg', { ...BROWSER, method })).status).toBe(404);
      expect((await app.send(disabled, { ...BROWSER, method })).status).toBe(410);
    }
  });

  test('reads that the service is back in a moment while the database is away', async () => {
    app.store.findRedirect = () => Promise.reject(new StoreError('unavailable', 'gone'));
    const { status, text, headers } = await app.send('/abcdefg', BROWSER);
    expect(status).toBe(503);
    expect(text).toMatch(/in a moment/);
    expect(headers.get('retry-after')).toBe('1');
  });

  test('loads nothing from the page but its own style, and runs nothing', async () => {
    const { text, headers } = await app.send('/abcdefg', BROWSER);
    const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(text).not.toMatch(/<script|https?:|url\(/);
    expect(text).not.toContain('abcdefg');
  });
});

test.each(['', '*/*', 'application/json', 'text/*', 'text/html;q=0', 'text/html-x'])(
  'a program that accepts %j gets JSON',
  async (accept) => {
    const { json } = await app.send('/abcdefg', { headers: { Accept: accept } });
    expect(json.code).toBe('not_found');
  },
);

test('the API is JSON in a browser too', async () => {
  for (const path of ['/api/v1/nowhere', LINKS, '/api/v1/usage']) {
    expect((await app.send(path, BROWSER)).headers.get('content-type')).toBe('application/json');
  }
});

describe('with pages of the operator’s own', () => {
  const urls = { rootUrl: 'https://example.com/', notFoundUrl: 'https://example.com/lost' };

  test('visitors are sent there, and programs get JSON for links', async () => {
    await open(urls);
    for (const [path, url] of [
      ['/', urls.rootUrl],
      ['/abcdefg', urls.notFoundUrl],
      [disabled, urls.notFoundUrl],
    ] as const) {
      const { status, headers } = await app.send(path, BROWSER);
      expect(status).toBe(302);
      expect(headers.get('location')).toBe(url);
      expect(headers.get('content-length')).toBe('0');
      // The site of a link sees who sent its visitor; that of the operator's pages need not.
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
    expect((await app.send('/')).headers.get('location')).toBe(urls.rootUrl);
    expect((await app.send('/abcdefg')).status).toBe(404);
  });

  test.each(['https://example.com', 'http://EXAMPLE.com:443'])(
    'nobody is sent to %s from there: the service serves a host that it was not told about',
    async (origin) => {
      await open(urls);
      for (const [path, status] of [
        ['/', 200],
        ['/lost', 404],
      ] as const) {
        const answer = await app.send(`${origin}${path}`, BROWSER);
        expect([answer.status, answer.headers.get('location')]).toEqual([status, null]);
        expect(answer.text).toContain('<h1>');
      }
    },
  );
});
