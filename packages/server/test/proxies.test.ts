import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createLogger, type RunningServer, readSettings, startServer } from '../src/index.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import { BATCH, LINKS, PUBLIC_URL, TARGET } from './fixture.ts';
import { freePort } from './free-port.ts';

const MIB = 1024 * 1024;

/** A target whose `Location` is as long as the service allows, nearly. */
const LONG_TARGET = `https://example.com/${'ü'.repeat(1_350)}`;

const read = (path: string) => readFile(new URL(`../deploy/${path}`, import.meta.url), 'utf8');

/** The shipped configuration of a proxy, started for real. */
interface Proxy {
  /** Directives without which it would not serve what the service serves. */
  needs: readonly RegExp[];
  file: string;
  /** Writes what it needs into a folder, and answers its command line. */
  prepare: (folder: string, port: number, instances: readonly RunningServer[]) => Promise<Command>;
}

interface Command {
  args: string[];
  env: Record<string, string>;
}

const PROXIES: Record<string, Proxy> = {
  caddy: {
    file: 'Caddyfile',
    needs: [
      /on_demand_tls \{\s+ask .*\/internal\/tls-check/,
      /^https:\/\/ \{\s+tls \{\s+on_demand/m,
      /@internal path \/metrics \/readyz \/healthz \/internal\/\*\s+respond @internal 404/,
      /max_size 17MB/,
      /health_uri \/readyz/,
    ],
    prepare: async (folder, port, [first, second]) => {
      const file = join(folder, 'Caddyfile');
      await writeFile(file, await read('Caddyfile'));
      const options = [
        'local_certs',
        'skip_install_trust',
        'admin off',
        'default_bind 127.0.0.1',
        `https_port ${port}`,
        `http_port ${await freePort()}`,
      ];
      return {
        args: ['run', '--config', file, '--adapter', 'caddyfile'],
        env: {
          HOME: folder,
          XDG_DATA_HOME: folder,
          XDG_CONFIG_HOME: folder,
          SHORTLINK_DOMAIN: 'sho.rt',
          SHORTLINK_UPSTREAMS: [first, second].map((one) => hostOf(one)).join(' '),
          SHORTLINK_TLS_ASK_URL: `${first?.url}/internal/tls-check`,
          SHORTLINK_CADDY_OPTIONS: options.join('\n'),
        },
      };
    },
  },
  nginx: {
    file: 'nginx.conf',
    needs: [
      /ssl_certificate +\S+\/\$ssl_server_name\/fullchain\.pem;/,
      /location ~ \^\/\(metrics\$\|healthz\$\|readyz\$\|internal\/\) \{\s+return 404;/,
      /client_max_body_size 17m;/,
      /proxy_set_header Host \$host;/,
      /proxy_set_header X-Forwarded-For \$remote_addr;/,
      /proxy_buffer_size 16k;/,
      /proxy_read_timeout 60s;/,
      /max_fails=1/,
    ],
    prepare: async (folder, port, [first, second]) => {
      for (const name of ['sho.rt', 'go.example']) await makeCertificate(folder, name);
      const site = (await read('nginx.conf'))
        .replaceAll('/etc/letsencrypt', folder)
        .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
        .replaceAll('listen 80', `listen 127.0.0.1:${await freePort()}`)
        .replaceAll(/^ *listen \[::\].*$/gm, '')
        .replace(
          'server 127.0.0.1:8787',
          `server ${hostOf(second)} max_fails=1 fail_timeout=1s; server ${hostOf(first)}`,
        );
      await writeFile(join(folder, 'site.conf'), site);
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (kind) => `${kind}_temp_path ${folder}/${kind};`,
      );
      await writeFile(
        join(folder, 'nginx.conf'),
        `daemon off; pid ${folder}/pid; error_log stderr; worker_processes 1; ${process.getuid?.() === 0 ? 'user root;' : ''}
         events {} http { access_log off; ${temporary.join(' ')} include ${folder}/site.conf; }`,
      );
      return { args: ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')], env: {} };
    },
  },
};

describe.each(Object.entries(PROXIES))('the shipped configuration of %s', (name, proxy) => {
  const binary = findBinary(name);

  test('says what the service needs, in balanced blocks', async () => {
    const text = await read(proxy.file);
    for (const needed of proxy.needs) expect(text).toMatch(needed);
    const code = text.replaceAll(/#.*$/gm, '').replaceAll(/\{\$[^}]*\}/g, '');
    expect(code.split('{')).toHaveLength(code.split('}').length);
  });

  // Where the program is missing, its configuration is checked as text only. CI installs it and sets this, so that it is not missed.
  const missing = binary === undefined ? ` (skipped: ${name} is not installed here)` : '';
  test(`is run for real where the program is installed${missing}`, () => {
    if (process.env['SHORTLINK_TEST_PROXIES'] === 'required') expect(binary).toBeDefined();
  });

  describe.runIf(binary !== undefined)(`run for real${missing}`, () => {
    let folder: string;
    let instances: RunningServer[];
    let child: ChildProcess;
    let key: string;
    let port: number;
    let output = '';
    const links = { own: '', custom: '' };

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), `shortlink-${name}-`));
      await chmod(folder, 0o755);
      instances = [await startInstance(folder), await startInstance(folder)];
      key = instances[0]?.devKey ?? '';
      const store = await openSqliteStore({ path: join(folder, 'x.db'), publicUrl: PUBLIC_URL });
      const [account] = await store.listAccounts();
      const input = { hostname: 'go.example', accountId: account?.id ?? '', now: Date.now() };
      const domain = await store.addDomain(input);
      await store.close();
      port = await freePort();
      const { args, env } = await proxy.prepare(folder, port, instances);
      child = spawn(binary ?? '', args, { env: { PATH: process.env['PATH'] ?? '', ...env } });
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      // It listens before it knows that the instances are there.
      links.own = await vi.waitFor(() => createLink({ target_url: TARGET }), 100_000);
      links.custom = await createLink({ target_url: LONG_TARGET, domain_id: domain?.id });
    });
    afterAll(async () => {
      if (child !== undefined && child.exitCode === null) {
        const exit = once(child, 'exit');
        child.kill('SIGTERM');
        await exit;
      }
      for (const instance of instances) await instance.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const createLink = async (link: object): Promise<string> => {
      const { status, text } = await send('sho.rt', LINKS, { body: JSON.stringify(link) });
      expect([status, text], output).toEqual([201, text]);
      return JSON.parse(text).code;
    };

    /** Sends a request through the proxy, as a browser that resolved this host to it. */
    function send(
      host: string,
      path: string,
      { body }: { body?: string } = {},
    ): Promise<{ status: number | undefined; location: string | undefined; text: string }> {
      return new Promise((resolve, reject) => {
        const headers = {
          Host: host,
          'X-Api-Key': key,
          ...(body !== undefined && {
            'Content-Type': 'application/json',
            'Content-Length': Buffer.byteLength(body),
          }),
        };
        const outgoing = request(
          {
            host: '127.0.0.1',
            port,
            servername: host,
            // Certificates for this test are signed by nobody that the machine knows.
            rejectUnauthorized: false,
            agent: false,
            method: body === undefined ? 'GET' : 'POST',
            path,
            headers,
          },
          (response) => {
            let text = '';
            response.setEncoding('utf8').on('data', (chunk: string) => {
              text += chunk;
            });
            response.on('error', reject).on('end', () => {
              resolve({ status: response.statusCode, location: response.headers.location, text });
            });
          },
        );
        outgoing.on('error', reject).end(body);
      });
    }

    test('links of the service and of a custom domain redirect, each on its own host', async () => {
      const redirectEachOnItsHost = async () => {
        const own = await send('sho.rt', `/${links.own}`);
        expect([own.status, own.location], output).toEqual([302, TARGET]);
        const custom = await send('go.example', `/${links.custom}`);
        expect([custom.status, custom.location]).toEqual([302, new URL(LONG_TARGET).href]);
        expect(custom.location?.length).toBeGreaterThan(8_000);
        expect((await send('sho.rt', `/${links.custom}`)).status).toBe(404);
        expect((await send('go.example', `/${links.own}`)).status).toBe(404);
      };
      // An instance knows a new domain, and asks for its certificate, within a second, or later on a busy machine.
      await vi.waitFor(redirectEachOnItsHost, { timeout: 100_000, interval: 200 });
    });

    test('a name that the service does not serve gets no connection', async () => {
      await expect(send('other.example', `/${links.own}`)).rejects.toThrow();
    });

    test('what is for the operator is not served, not even to this machine', async () => {
      for (const path of [
        '/metrics',
        '/readyz',
        '/healthz',
        '/internal/tls-check?domain=go.example',
      ]) {
        const { status, text } = await send('sho.rt', path);
        expect([path, status]).toEqual([path, 404]);
        expect(text).not.toContain('Path not found');
      }
    });

    test('bodies up to 16 MiB reach the service, which says itself what is too large', async () => {
      const body = (size: number) => JSON.stringify({ links: [], ignored: 'x'.repeat(size - 25) });
      const largest = await send('sho.rt', BATCH, { body: body(16 * MIB) });
      expect([largest.status, JSON.parse(largest.text).code]).toEqual([400, 'invalid_request']);
      // The service answers before it has read the body. A busy proxy may notice the closed connection first, and say 502.
      const larger = async () => {
        const { status, text } = await send('sho.rt', BATCH, { body: body(16 * MIB + 1) });
        return [status, text];
      };
      await expect.poll(larger).toEqual([413, expect.stringContaining('too_large')]);
    });

    test('while the database is away, known links redirect, however often the proxy asks for the health of the service', async () => {
      const follow = async () => (await send('sho.rt', `/${links.own}`)).status;
      await expect.poll(follow).toBe(302);
      const [file, away] = [join(folder, 'x.db'), join(folder, 'away.db')];
      await rename(file, away);
      const ready = await fetch(`${instances[0]?.url}/readyz`);
      expect([ready.status, JSON.parse(await ready.text()).database]).toEqual([200, 'down']);
      const statuses = new Set<number | undefined>();
      // Three times the interval in which the proxies ask.
      for (const end = Date.now() + 3_000; Date.now() < end; await sleep(100)) {
        statuses.add(await follow());
      }
      await rename(away, file);
      expect([...statuses]).toEqual([302]);
    });

    test('while an instance is gone, the other serves everything', async () => {
      await instances.pop()?.stop();
      const statuses = new Set<number | undefined>();
      for (let n = 0; n < 20; n += 1) {
        statuses.add((await send('sho.rt', `/${links.own}`)).status);
      }
      expect([...statuses]).toEqual([302]);
      expect(await createLink({ target_url: TARGET })).toHaveLength(7);
    });
  });
});

async function startInstance(folder: string): Promise<RunningServer> {
  const database = `sqlite:${join(folder, 'x.db')}`;
  const settings = readSettings({ database, port: '0', publicUrl: PUBLIC_URL }, {});
  return startServer(settings, { dev: true, logger: createLogger('silent') });
}

function hostOf(instance: RunningServer | undefined): string {
  return new URL(instance?.url ?? '').host;
}

/** Proxies are installed where only root has them in its path. */
function findBinary(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((path) => join(path, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A self-signed certificate, where certbot would put one. */
async function makeCertificate(folder: string, name: string): Promise<void> {
  const path = join(folder, 'live', name);
  await mkdir(path, { recursive: true });
  const files = ['-keyout', join(path, 'privkey.pem'), '-out', join(path, 'fullchain.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await promisify(execFile)('openssl', [
    ...['req', '-x509', ...key, ...files, '-days', '2', '-subj', `/CN=${name}`],
  ]);
}
