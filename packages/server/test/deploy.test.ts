import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readSettings, SETTINGS } from '../src/settings.ts';

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');
const variablesIn = (text: string) => [
  ...new Set(text.match(/SHORTLINK_[A-Z_]+\b/g)?.map((name) => name.replace(/_FILE$/, ''))),
];

/** Variables of the compose file itself, which it makes others from. */
const COMPOSE_ONLY = ['SHORTLINK_DOMAIN', 'SHORTLINK_UPSTREAMS', 'SHORTLINK_TLS_ASK_URL'];

/** Variables of the client and the command line. */
const CLIENT_ONLY = ['SHORTLINK_API_KEY', 'SHORTLINK_BASE_URL', 'SHORTLINK_PROFILE'];

interface ComposeService {
  profiles: string[];
  image: string;
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt: string[];
  ports?: string[];
  volumes?: string[];
  environment?: Record<string, string>;
  depends_on?: object;
}

let known: string[];
beforeAll(async () => {
  known = Object.values(SETTINGS).map(({ option }) => option.envVar ?? '');
});

const PAGES = globSync('{start,production}/*.md', {
  cwd: new URL('../../docs/', import.meta.url),
}).map((name) => `../docs/${name}`);

test.each(['Dockerfile', 'compose.yaml', 'deploy/shortlink-server.service', 'README.md', ...PAGES])(
  '%s names settings that exist only',
  async (file) => {
    const unknown = variablesIn(await read(file)).filter((name) => !known.includes(name));
    const others = [...COMPOSE_ONLY, ...CLIENT_ONLY];
    expect(unknown.filter((name) => !others.includes(name))).toEqual([]);
  },
);

describe('compose.yaml', () => {
  let services: Record<string, ComposeService>;
  beforeAll(async () => {
    services = parse(await read('compose.yaml'), { merge: true }).services;
  });
  const ofProfile = (profile: string) =>
    Object.entries(services)
      .filter(([, service]) => service.profiles.includes(profile))
      .map(([name]) => name);

  test('has one instance in one profile, three with database and proxy in the other', () => {
    expect(ofProfile('one')).toEqual(['one']);
    expect(ofProfile('many')).toEqual(['many-1', 'many-2', 'many-3', 'postgres', 'proxy']);
  });

  test('every instance is confined, and takes settings that the server accepts', () => {
    const instances = Object.values(services).filter(({ image }) => image === 'shortlink-server');
    expect(instances).toHaveLength(4);
    for (const { environment = {}, ...service } of instances) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
      expect(service.cap_add).toBeUndefined();
      expect(service.security_opt).toEqual(['no-new-privileges:true']);
      const filled = Object.entries(environment).map(([name, value]) => [name, fill(value)]);
      expect(() => readSettings({}, Object.fromEntries(filled))).not.toThrow();
    }
  });

  test('nothing but the proxy is open to the world, and every volume is declared', async () => {
    const open = Object.entries(services)
      .filter(([, { ports = [] }]) => ports.some((port) => !port.startsWith('127.0.0.1:')))
      .map(([name]) => name);
    expect(open).toEqual(['proxy']);
    const declared = Object.keys(parse(await read('compose.yaml')).volumes);
    const used = Object.values(services)
      .flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0] ?? ''))
      .filter((name) => !name.startsWith('.'));
    expect(used.toSorted()).toEqual(declared.toSorted());
  });
});

test('the proxy of compose knows every instance, and what the Caddyfile asks for', async () => {
  const { services } = parse(await read('compose.yaml'), { merge: true });
  const { environment } = services.proxy;
  expect(environment.SHORTLINK_UPSTREAMS).toBe('many-1:8787 many-2:8787 many-3:8787');
  expect(environment.SHORTLINK_TLS_ASK_URL).toContain('/internal/tls-check?token=');
  const wanted = variablesIn(await read('deploy/Caddyfile')).filter(
    (name) => !known.includes(name),
  );
  expect(wanted.toSorted()).toEqual(
    [...Object.keys(environment), 'SHORTLINK_CADDY_OPTIONS'].toSorted(),
  );
});

test('the image runs as its unprivileged user and ends on the signal it is sent', async () => {
  const lines = (await read('Dockerfile')).split('\n');
  const lastStage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  expect(lastStage).toContain('USER node');
  expect(lastStage).toContain('ENTRYPOINT ["shortlink-server"]');
  expect(await read('deploy/shortlink-server')).toMatch(/^exec node \/app\/dist\/main\.js "\$@"$/m);
});

/** What compose makes of a value when no variable is set: `${NAME:-default}`. */
function fill(value: string): string {
  return value.replace(/\$\{\w+:-([^}]*)\}/g, '$1');
}
