// Rehearses the image of the server without a container engine: pnpm image:rehearse
//
// Takes the files that .dockerignore lets through into an empty folder, runs the commands of the build stage there as a user without
// rights, and starts what they made the way the image does. The commands of the last stage are about the file system of the image
// and are not run.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, matchesGlob } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from './manifests.ts';

const FILE = 'packages/server/Dockerfile';
/** The user `nobody`, where this runs as root. */
const OWNER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
const folder = mkdtempSync(join(tmpdir(), 'shortlink-image-'));
const [build = '', image = ''] = readFileSync(join(ROOT, FILE), 'utf8')
  .split(/^FROM .*\n/m)
  .slice(1);

/** Replaces the folders of the image in a text of the Dockerfile by folders below ours. */
const here = (text: string) => text.replace(/(^|[\s:=])\/(src|app|data)\b/g, `$1${folder}/$2`);

/** Instructions of a stage with this name, in one line each, without comments. */
function instructions(stage: string, name: string): string[] {
  const lines = stage
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n');
  return lines.flatMap((line) => (line.startsWith(`${name} `) ? line.slice(name.length + 1) : []));
}

/** Whether Docker sends the file to the build: the last pattern that fits decides. */
function isSent(path: string, patterns: readonly string[]): boolean {
  const last = patterns.findLast((line) => {
    const pattern = line.replace(/^!/, '');
    return matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`);
  });
  return last === undefined || last.startsWith('!');
}

try {
  for (const name of ['src', 'data', 'home']) mkdirSync(join(folder, name));
  const patterns = readFileSync(join(ROOT, `${FILE}.dockerignore`), 'utf8').split('\n');
  const listed = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n');
  for (const path of listed.filter((file) => file !== '' && isSent(file, patterns))) {
    mkdirSync(dirname(join(folder, 'src', path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, 'src', path));
  }
  if (OWNER.uid !== undefined) {
    for (const name of ['', 'src', 'data', 'home'])
      chownSync(join(folder, name), OWNER.uid, OWNER.gid);
    execFileSync('chown', ['-R', `${OWNER.uid}:${OWNER.gid}`, join(folder, 'src')]);
  }
  // All other settings by which this machine reaches the registry of npm are in the environment.
  // The cache of npm is not: npx names its own there, which the other user can't write to.
  const home = join(folder, 'home');
  const env = { ...process.env, HOME: home, npm_config_cache: join(home, '.npm'), CI: '1' };
  for (const command of instructions(build, 'RUN')) {
    console.log(`RUN ${command}`);
    const options = { cwd: join(folder, 'src'), env, stdio: 'inherit', ...OWNER } as const;
    const { status } = spawnSync('sh', ['-c', here(command)], options);
    if (status !== 0) throw new Error(`the command ended with ${status}`);
  }
  await startAsTheImageDoes();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function startAsTheImageDoes(): Promise<void> {
  const settings = instructions(image, 'ENV')
    .join(' ')
    .matchAll(/(\w+)=(\S+)/g);
  const env = {
    PATH: process.env['PATH'],
    ...Object.fromEntries([...settings].map(([, name, value = '']) => [name, here(value)])),
    // Unlike in a container, other machines could reach the server, and 8787 may be in use.
    SHORTLINK_HOST: '127.0.0.1',
    SHORTLINK_PORT: '0',
  };
  const [command = '[]'] = instructions(image, 'CMD');
  const args: string[] = JSON.parse(command);
  const child = spawn(process.execPath, [join(folder, 'app/dist/main.js'), ...args], {
    cwd: join(folder, 'data'),
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...OWNER,
  });
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      console.log(line);
      const port = /^listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(line)?.[1];
      if (port === undefined) continue;
      const [, check = '[]'] =
        /CMD (\[.*\])/.exec(instructions(image, 'HEALTHCHECK')[0] ?? '') ?? [];
      const [, ...words]: string[] = JSON.parse(check);
      const health = { env: { ...env, SHORTLINK_PORT: port }, ...OWNER };
      const { status } = spawnSync(process.execPath, words, health);
      if (status !== 0) throw new Error(`the health check ended with ${status}`);
      console.log('healthy');
      child.kill('SIGTERM');
    }
    if (child.exitCode === null) await once(child, 'exit');
    if (child.exitCode !== 0) throw new Error(`the server ended with ${child.exitCode}`);
  } finally {
    child.kill('SIGKILL');
  }
}
