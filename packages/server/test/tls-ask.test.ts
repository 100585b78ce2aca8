import { describe, expect, test } from 'vitest';
import { appOf } from './app-of.ts';
import { addDomain, Fixture, PUBLIC_URL } from './fixture.ts';

const LOCAL = { incoming: { socket: { remoteAddress: '127.0.0.1' } } };
const REMOTE = { incoming: { socket: { remoteAddress: '203.0.113.9' } } };
const TOKEN = 'a.long-enough_token';

/** Asks whether a host is served, as a proxy does. */
async function prepare(tlsAskToken?: string) {
  const { store } = await Fixture.open();
  let now = Date.now();
  const app = appOf({ store, publicUrl: PUBLIC_URL, tlsAskToken, now: () => now });
  const account = { name: 'x', plan: 'custom', now } as const;
  const limits = {
    requests_per_minute: null,
    requests_per_day: null,
    requests_per_month: null,
    links: null,
    api_keys: null,
    batch_size: null,
  };
  const { id } = await store.createAccount({ ...account, limits });
  await addDomain(store, { hostname: 'go.example', accountId: id, now });
  return {
    store,
    later: () => {
      now += 1_001;
    },
    ask: async (
      query: string,
      from: object = LOCAL,
      headers: Record<string, string> = {},
      host = '127.0.0.1:8787',
    ) => {
      const url = `http://${host}/internal/tls-check${query}`;
      return (await app.fetch(new Request(url, { headers }), from)).status;
    },
  };
}

describe('whether a host is served', () => {
  test('is answered for registered domains and the public URL, in any spelling, and no other', async () => {
    const { ask } = await prepare();
    for (const host of ['go.example', 'GO.Example.', 'sho.rt', 'SHO.RT']) {
      expect(await ask(`?domain=${host}`), host).toBe(200);
    }
    for (const host of ['example', 'x.go.example', 'go.example.org', '', 'a%20b', '*.example']) {
      expect(await ask(`?domain=${host}`), host).toBe(404);
    }
    expect(await ask('')).toBe(404);
  });

  test('is answered by the name of a domain, since the name in a TLS handshake has no port', async () => {
    const { store, ask, later } = await prepare();
    const [first] = await store.listDomains();
    const accountId = first?.account_id ?? '';
    await addDomain(store, { hostname: 'to.example:8443', accountId, now: Date.now() });
    later();
    for (const host of ['to.example', 'to.example:8443', 'to.example:9000', 'go.example:8443']) {
      expect(await ask(`?domain=${host}`), host).toBe(200);
    }
    await store.removeDomain({ hostname: 'to.example:8443', force: false, now: Date.now() });
    later();
    expect(await ask('?domain=to.example')).toBe(404);
  });

  test('follows the list of domains', async () => {
    const { store, ask, later } = await prepare();
    expect(await ask('?domain=go.example')).toBe(200);
    await store.removeDomain({ hostname: 'go.example', force: false, now: Date.now() });
    later();
    expect(await ask('?domain=go.example')).toBe(404);
  });

  test.each([
    ['from elsewhere', REMOTE, {}],
    ['through a proxy', LOCAL, { 'X-Forwarded-For': '203.0.113.9' }],
    ['without a socket', {}, {}],
  ])('%s is 403, for a registered host as for any', async (_, from, headers) => {
    const { ask } = await prepare();
    for (const host of ['go.example', 'sho.rt', 'other.example']) {
      expect(await ask(`?domain=${host}`, from, headers)).toBe(403);
    }
  });

  test.each(['sho.rt', 'rebound.example:8787', '127.0.0.1.example', 'localhost.example'])(
    'for %s, a name that leads to this machine, it is 403',
    async (host) => {
      const { ask } = await prepare();
      expect(await ask('?domain=go.example', LOCAL, {}, host)).toBe(403);
      for (const own of ['localhost', '127.1.2.3:80', '[::1]:8787']) {
        expect(await ask('?domain=go.example', LOCAL, {}, own)).toBe(200);
      }
    },
  );

  test('with a token it is answered to whoever has it', async () => {
    const { ask } = await prepare(TOKEN);
    expect(await ask(`?token=${TOKEN}&domain=go.example`, REMOTE)).toBe(200);
    expect(await ask(`?token=${TOKEN}&domain=other.example`, REMOTE)).toBe(404);
    for (const token of ['', '?token=', '?token=a.long-enough_tokex']) {
      expect(await ask(`${token || '?'}&domain=go.example`, LOCAL)).toBe(403);
    }
  });
});
