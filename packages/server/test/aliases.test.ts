import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { findCode } from '../src/admin/moving/address.ts';
import { aliasAddress, canonicalPath } from '../src/domain/aliases.ts';
import { uuidOf } from '../src/domain/ids.ts';
import { createLogger } from '../src/logger.ts';
import { createService } from '../src/service.ts';
import { readSettings } from '../src/settings.ts';
import { createApp } from '../src/start-server.ts';
import { UNKNOWN_CODE_MAX_AGE_MS } from '../src/store/redirect-cache.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import { useDatabasePath } from '../src/store/sqlite/temp-database.test-suite.ts';
import type { Store } from '../src/store/store.ts';
import { StoreError } from '../src/store/store-error.ts';
import { addDomain, Fixture, LINKS, PUBLIC_URL, START, TARGET } from './fixture.ts';

const path = useDatabasePath();

/** Gives an account a link with these old addresses: host, `''` for the default domain, and path. */
async function moveIn(
  store: Store,
  accountId: string,
  target_url: string,
  ...addresses: [host: string, path: string][]
): Promise<string> {
  const domains = await store.listDomains();
  const aliases = addresses.map(([host, path]) => ({
    domain_id: domains.find(({ hostname }) => hostname === host)?.id ?? '',
    path: canonicalPath(path) ?? '',
  }));
  const link = {
    ...{ id: uuidOf(START), domain_id: null, target_url, title: '', redirect_type: 302 as const },
    ...{ is_active: true, tags: [], click_count: 0, created_at: START, aliases },
  };
  await store.importLinks({ accountId, links: [link] });
  return (await store.listLinks({ accountId, limit: 1 }))[0]?.code ?? '';
}

describe('an old address', () => {
  async function setUp() {
    const clicked: string[] = [];
    const app = await Fixture.open({ onClick: (code) => clicked.push(code) });
    const accountId = await app.account();
    const key = await app.key(accountId);
    const domain = { hostname: 'bit.example', accountId, now: START };
    await addDomain(app.store, domain);
    const locate = async (url: string, init?: RequestInit) => {
      const { status, headers } = await app.send(url, init);
      return headers.get('location') ?? status;
    };
    return { app, accountId, key, clicked, locate };
  }

  test('leads to its link on its own host, byte by byte', async () => {
    const { app, accountId, locate } = await setUp();
    const target = (n: number) => `https://example.com/${n}`;
    await moveIn(app.store, accountId, target(1), ['bit.example', '/Sale'], ['', '/docs/2024/x']);
    await moveIn(app.store, accountId, target(2), ['bit.example', '/sale'], ['bit.example', '/😀']);
    await moveIn(app.store, accountId, target(3), ['', '/Sale'], ['', '/a,b'], ['', '/a%2fb']);
    for (const [url, found] of [
      ['http://bit.example/Sale', target(1)],
      ['http://bit.example/sale?utm=x', target(2)],
      ['http://bit.example/%f0%9f%98%80', target(2)],
      ['http://bit.example/%53ale', target(1)],
      [`${PUBLIC_URL}/Sale`, target(3)],
      // Links of the default domain are served on every host that is no custom domain.
      ['http://10.0.0.1/docs/2024/x', target(1)],
      [`${PUBLIC_URL}/a,b`, target(3)],
      [`${PUBLIC_URL}/a%2Fb`, target(3)],
      [`${PUBLIC_URL}/a/b`, 404],
      [`${PUBLIC_URL}/sale`, 404],
      ['http://bit.example/sale/', 404],
      ['http://bit.example/docs/2024/x', 404],
    ] as const) {
      expect.soft(await locate(url), url).toBe(found);
    }
  });

  test('is found on the host of the public URL also where that is a custom domain, after those of the default one', async () => {
    const { app, accountId, locate } = await setUp();
    await addDomain(app.store, { hostname: 'sho.rt', accountId, now: START });
    const code = await moveIn(app.store, accountId, TARGET, ['sho.rt', '/one'], ['sho.rt', '/two']);
    await moveIn(app.store, accountId, `${TARGET}/default`, ['', '/two'], ['', '/three']);
    for (const [url, found] of [
      [`${PUBLIC_URL}/one`, TARGET],
      [`${PUBLIC_URL}/two`, `${TARGET}/default`],
      [`${PUBLIC_URL}/three`, `${TARGET}/default`],
      [`${PUBLIC_URL}/four`, 404],
      ['http://10.0.0.1/one', 404],
    ] as const) {
      expect.soft(await locate(url), url).toBe(found);
    }
    const operator = { store: app.store, publicUrl: PUBLIC_URL };
    expect(await findCode(operator, `${PUBLIC_URL}/one`)).toBe(code);
    expect(await findCode(operator, '/one')).toBeUndefined();
  });

  test('counts clicks on the link; HEAD counts none, and another method is what it was before', async () => {
    const { app, accountId, clicked, locate } = await setUp();
    const code = await moveIn(app.store, accountId, TARGET, ['', '/a/b']);
    expect(await locate('/a/b')).toBe(TARGET);
    expect(await locate('/a/b', { method: 'HEAD' })).toBe(TARGET);
    expect(await locate('/a/b', { method: 'POST' })).toBe(404);
    expect(clicked).toEqual([code]);
    const { headers } = await app.send('/a/b');
    expect(headers.get('cache-control')).toBe('private, max-age=0');
  });

  test('is looked up only where nothing else responds', async () => {
    const { app, accountId, key, locate } = await setUp();
    const { code } = (await app.post(key, LINKS, { target_url: `${TARGET}/own` })).json;
    const asked: string[] = [];
    const { findRedirect } = app.store;
    app.store.findRedirect = (address) => {
      asked.push(address);
      return findRedirect(address);
    };
    expect(await locate(`/${code}`)).toBe(`${TARGET}/own`);
    for (const path of ['/', '/healthz', '/metrics', '/openapi.json', '/api', '/api/v1/nothing']) {
      await locate(path);
    }
    expect(asked).toEqual([code]);
    // The code is not served on that host, but an alias of the same spelling is.
    await moveIn(app.store, accountId, TARGET, ['bit.example', `/${code}`]);
    expect(await locate(`http://bit.example/${code}`)).toBe(TARGET);
  });

  test('costs an unknown host no look-up of its own', async () => {
    const { app, locate } = await setUp();
    const asked: string[] = [];
    const { findRedirect } = app.store;
    app.store.findRedirect = (address) => {
      asked.push(address);
      return findRedirect(address);
    };
    expect(await locate('http://scanner.example/wp-login.php')).toBe(404);
    expect(await locate('http://scanner.example/aBcDeFg')).toBe(404);
    expect(asked).toEqual(['/wp-login.php', 'aBcDeFg', '/aBcDeFg']);
  });

  test('is gone with its domain, whatever the default domain has at the same path', async () => {
    const { app, accountId, key, locate } = await setUp();
    const { code } = (await app.post(key, LINKS, { target_url: `${TARGET}/own` })).json;
    await moveIn(app.store, accountId, TARGET, ['bit.example', `/${code}`], ['bit.example', '/x']);
    await moveIn(app.store, accountId, `${TARGET}/other`, ['', '/x'], ['', '/y']);
    const there = async () => {
      const paths = [code, 'x', 'y'].map((path) => locate(`http://bit.example/${path}`));
      return Promise.all(paths);
    };
    expect(await there()).toEqual([TARGET, TARGET, 404]);
    await app.store.removeDomain({ hostname: 'bit.example', force: true, now: START });
    // Links of the default domain are served there, where the domain had none of its own.
    expect(await there()).toEqual([410, 410, `${TARGET}/other`]);
    await app.store.addDomain({ hostname: 'bit.example', accountId, now: START });
    expect(await there()).toEqual([TARGET, TARGET, 404]);
  });

  test('is switched off, corrected and removed with its link', async () => {
    const { app, accountId, locate } = await setUp();
    const code = await moveIn(app.store, accountId, TARGET, ['bit.example', '/x/y']);
    const url = 'http://bit.example/x/y';
    await app.store.setLinkActive(code, false);
    expect(await locate(url)).toBe(410);
    await app.store.setLinkActive(code, true);
    const target_url = 'https://example.com/right';
    await app.store.updateLinks([{ code, target_url, by: 'ann', now: START }]);
    expect(await locate(url)).toBe(target_url);
    await app.store.removeDomain({ hostname: 'bit.example', force: true, now: START });
    expect(await locate(url)).toBe(410);
    expect(await locate('http://bit.example/x')).toBe(404);
    expect(await locate('http://other.example/x/y')).toBe(404);
    await app.store.addDomain({ hostname: 'bit.example', accountId, now: START });
    expect(await locate(url)).toBe(target_url);
  });
});

describe('in memory', () => {
  test('an old address is kept, follows changes by other processes within a second, and outlives an outage', async () => {
    const open = () => openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
    const [store, command] = [await open(), await open()];
    const app = await Fixture.open({ store: command });
    const accountId = await app.account();
    const code = await moveIn(command, accountId, TARGET, ['', '/aBcDeFg'], ['', '/a/b']);
    const service = createService({ store, publicUrl: PUBLIC_URL });
    await service.start();
    const locate = async (address: string) => {
      const response = await service.fetch(new Request(PUBLIC_URL + address));
      return response.headers.get('location') ?? response.status;
    };
    const both = async () => [await locate('/aBcDeFg'), await locate('/a/b')];
    expect(await both()).toEqual([TARGET, TARGET]);
    const target_url = 'https://example.com/right';
    await command.updateLinks([{ code, target_url, by: 'ann', now: START }]);
    await expect.poll(both, { interval: 20, timeout: 1_000 }).toEqual([target_url, target_url]);
    const { findRedirect } = store;
    const asked: string[] = [];
    store.findRedirect = async (address) => {
      asked.push(address);
      throw new StoreError('unavailable', 'away');
    };
    // That no link has the code is known for a moment only.
    await sleep(UNKNOWN_CODE_MAX_AGE_MS);
    expect(await both()).toEqual([target_url, target_url]);
    // The first one could be a code, which is not asked for: nobody would have time for that during an outage.
    expect(asked).toEqual([]);
    store.findRedirect = findRedirect;
    await service.stop();
    await store.close();
    await command.close();
  });
});

describe('a path', () => {
  test.each([
    ['/abc', '/abc'],
    ['/😀', '/%F0%9F%98%80'],
    ['/%f0%9F%98%80', '/%F0%9F%98%80'],
    ['/%41%2f%7e', '/A%2F~'],
    ['/100%', '/100%25'],
    ['/a b"c', '/a%20b%22c'],
    ["/-._~!$&'()*+,;=:@/", "/-._~!$&'()*+,;=:@/"],
    [`/${'x'.repeat(1_000)}`, undefined],
    [`/${'é'.repeat(200)}`, undefined],
    ['/\ud800', undefined],
  ])('%j is written %j', (text, canonical) => {
    expect(canonicalPath(text)).toBe(canonical);
    if (canonical !== undefined) expect(canonicalPath(canonical)).toBe(canonical);
  });

  test.each(['/', '/api', '/api/x', '/metrics', '/%61pi/x', '/internal/tls-check'])(
    '%s is reserved',
    (path) => {
      expect(aliasAddress(null, path)).toBeUndefined();
    },
  );
});

test('a start says that the host of the public URL is a custom domain, too', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const { id: accountId } = await store.createAccount({
    ...{ name: 'A', plan: 'pro' as const, limits: {}, now: START },
  });
  await addDomain(store, { hostname: 'go.example', accountId, now: START });
  await store.close();
  const warnings = async (publicUrl: string): Promise<string[]> => {
    const lines: string[] = [];
    const settings = readSettings({ database: `sqlite:${path()}`, publicUrl }, {});
    const logger = createLogger('warn', (line) => lines.push(line));
    await (await createApp(settings, { dev: false, logger })).stop();
    return lines.map((line) => JSON.parse(line).msg);
  };
  expect(await warnings(PUBLIC_URL)).toEqual([]);
  expect(await warnings('https://go.example')).toEqual([
    `go.example, the host of the public URL, is also a custom domain of account ${accountId}: at an address that both have, only the link of the default domain is found`,
  ]);
});
