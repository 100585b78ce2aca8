import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { mayBeEnteredByAll } from '../../server/test/start-postgres.ts';
import { ROOT } from '../../tools/src/manifests.ts';
import { readPage } from '../src/documented-code.ts';
import { SERVER_PROGRAM } from '../src/programs.ts';

/** The user `nobody`, where this runs as root, and not in a folder that only root may enter. */
const USER =
  process.getuid?.() === 0 && (await mayBeEnteredByAll(dirname(SERVER_PROGRAM)))
    ? { uid: 65_534, gid: 65_534 }
    : {};

describe('the systemd unit', () => {
  const path = 'packages/server/deploy/shortlink-server.service';
  const values = (name: string) =>
    [...readPage(path).matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'shortlink-unit-'));
    await chmod(folder, 0o700);
    if (USER.uid !== undefined) await chown(folder, USER.uid, USER.gid);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('is one that systemd accepts', () => {
    const { error, status, stderr } = spawnSync('systemd-analyze', ['verify', join(ROOT, path)]);
    // A machine without systemd can't judge the unit.
    if (error === undefined) expect([status, String(stderr)]).toEqual([0, '']);
    else expect(error).toMatchObject({ code: 'ENOENT' });
  });

  test('starts the server in an empty folder, as a user without rights, and stops it', async () => {
    const bin = await mkdtemp(join(tmpdir(), 'shortlink-bin-'));
    try {
      // As `npm install --global` does.
      await symlink(SERVER_PROGRAM, join(bin, 'shortlink-server'));
      await chmod(bin, 0o755);
      const [[file = '', ...args] = []] = values('ExecStart').map((line) => line.split(' '));
      const environment = values('Environment').map((line) =>
        line.replace(`/var/lib/${values('StateDirectory')[0]}`, folder),
      );
      const shell = `umask ${values('UMask')[0]}; exec "$0" "$@"`;
      const server = spawn('sh', ['-c', shell, file, ...args], {
        cwd: '/',
        ...USER,
        env: {
          PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`,
          // The port of the unit's default may be in use on this machine.
          SHORTLINK_PORT: '0',
          ...Object.fromEntries(environment.map((line) => line.split(/=(.*)/s))),
        },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      let url = '';
      for await (const line of createInterface({ input: server.stdout })) {
        url = /^listening on (\S+)$/.exec(line)?.[1] ?? '';
        if (url !== '') break;
      }
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      const files = await readdir(folder);
      expect(files).toContain('shortlink.db');
      for (const name of files) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    } finally {
      await rm(bin, { recursive: true, force: true });
    }
  });
});

describe('the page about Docker', () => {
  const page = readPage('packages/docs/production/docker.md').replaceAll('\\\n', '');
  const dockerfile = readPage('packages/server/Dockerfile').replaceAll('\\\n', '');
  const compose = readPage('packages/server/compose.yaml');
  const { services } = parse(compose, { merge: true });
  const words = (command: string) => {
    const [line = ''] = page.match(new RegExp(`^${command}.*$`, 'm')) ?? [];
    return line.split(/\s+/);
  };
  const after = (list: readonly string[], flag: string) => list[list.indexOf(flag) + 1];

  test('builds the image that it runs, and that compose runs', () => {
    const build = words('docker build');
    const image = after(build, '-t');
    expect(dockerfile).toContain(`: ${build.join(' ')}\n`);
    expect(words('docker run').at(-1)).toBe(image);
    expect(services.one.image).toBe(image);
    expect(join('packages/server', services.one.build.context, after(build, '-f') ?? '')).toBe(
      services.one.build.dockerfile,
    );
  });

  test('uses the port, the folder and the settings of the image', () => {
    const run = words('docker run');
    const [, host, port] = after(run, '-p')?.split(':') ?? [];
    expect(dockerfile).toMatch(new RegExp(`^EXPOSE ${port}$`, 'm'));
    expect(dockerfile).toContain(`SHORTLINK_PORT=${port}`);
    expect(services.one.ports).toEqual([after(run, '-p')]);
    expect(page).toContain(`on port ${host} of this machine`);
    const [, data] = after(run, '-v')?.split(':') ?? [];
    expect(dockerfile).toMatch(new RegExp(`^VOLUME ${data}$`, 'm'));
    expect(dockerfile).toContain(`SHORTLINK_DATABASE_URL=sqlite:${data}/`);
    expect(services.one.volumes).toEqual([`data:${data}`]);
    expect(run).toContain('--read-only');
    expect([services.one.read_only, services.one.tmpfs]).toEqual([true, [after(run, '--tmpfs')]]);
  });

  test('names containers, profiles and variables that exist', () => {
    expect(words('docker exec').slice(2, 4)).toEqual([
      after(words('docker run'), '--name'),
      'shortlink-server',
    ]);
    const profiles = Object.values<{ profiles: string[] }>(services).flatMap((one) => one.profiles);
    for (const [, profile] of page.matchAll(/docker compose --profile (\S+)/g)) {
      expect(profiles).toContain(profile);
    }
    for (const [, name = ''] of page.matchAll(/docker compose exec (\S+)/g)) {
      expect(services[name].image).toBe('shortlink-server');
    }
    const exported = words('export SHORTLINK').slice(1);
    expect(exported.length).toBeGreaterThan(0);
    for (const variable of exported) expect(compose).toContain(`\${${variable.split('=')[0]}:-`);
  });
});
