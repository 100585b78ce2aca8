import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PUBLISHED, ROOT, readManifest } from '../src/manifests.ts';
import { releaseNotes } from '../src/release-notes.ts';

const run = promisify(execFile);

/** The files of each package by its name, by one pnpm, which packs them for a release: to start it takes longer than to pack. */
let packed: Map<string, string[]>;
beforeAll(async () => {
  const filters = PUBLISHED.flatMap((folder) => ['--filter', `./${folder}`]);
  const pack = ['-y', 'pnpm@12', ...filters, 'pack', '--dry-run', '--json'];
  const { stdout } = await run('npx', pack, { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 });
  const packages: { name: string; files: { path: string }[] }[] = JSON.parse(stdout);
  packed = new Map(packages.map(({ name, files }) => [name, files.map(({ path }) => path)]));
});

describe.each(PUBLISHED)('%s', (folder) => {
  test('holds the files that its README names, its change log, no test, and no source map', async () => {
    const { name } = await readManifest(folder);
    const files = packed.get(name) ?? [];
    expect(files).toEqual(
      expect.arrayContaining(['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md']),
    );
    if (folder !== 'packages/sdk') expect(files).toContain('dist/main.js');
    const readme = await readFile(join(ROOT, folder, 'README.md'), 'utf8');
    const named = [...readme.matchAll(/\]\((?!\w+:|\.\.|#)(?:\.\/)?([^)#]+)/g)]
      .map(([, target = '']) => target.replace(/\/$/, ''))
      .filter((target) => !files.some((file) => file === target || file.startsWith(`${target}/`)));
    expect(named).toEqual([]);
    // Source maps would be most of it. Of the reports of `api/`, users need the description of the HTTP API only.
    const needless = files.filter((file) => /(^|\/)(test|src|api)\/|\.test\.|\.map$/.test(file));
    expect(needless).toEqual(folder === 'packages/server' ? ['api/openapi.json'] : []);
  });
});

test('the version of the SDK in User-Agent is that of its package', async () => {
  const { version } = await readManifest('packages/sdk');
  const source = await readFile(join(ROOT, 'packages/sdk/src/http/send.ts'), 'utf8');
  expect(source).toContain(`VERSION = '${version}'`);
});

describe('the notes of a release', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'shortlink-notes-'));
    for (const folder of PUBLISHED) {
      await mkdir(join(root, folder), { recursive: true });
      await cp(join(ROOT, folder, 'package.json'), join(root, folder, 'package.json'));
      await writeFile(join(root, folder, 'CHANGELOG.md'), `# ${folder}\n\n## 1.2.2\n\n- Older.\n`);
    }
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  test('are the sections of its version, and of no other', async () => {
    const changes = '# sdk\n\n## 1.2.3\n\n### Patch changes\n\n- Newer.\n\n## 1.2.2\n\n- Older.\n';
    await writeFile(join(root, 'packages/sdk/CHANGELOG.md'), changes);
    expect(await releaseNotes('1.2.3', root)).toBe(
      '## @shortlink/sdk\n\n### Patch changes\n\n- Newer.\n',
    );
    expect(await releaseNotes('1.2.2', root)).toMatch(/sdk\n\n- Older[\s\S]*cli\n[\s\S]*server\n/);
  });

  test('are missing for a version that no change log names, and that stops the release', async () => {
    await expect(releaseNotes('1.2', root)).rejects.toThrow('about 1.2.');
  });

  test('are there for the version of the packages', async () => {
    const { version } = await readManifest('packages/sdk');
    expect(await releaseNotes(version)).toContain('## @shortlink/sdk\n');
  });
});

test('nothing is published from here', async () => {
  const program = fileURLToPath(new URL('../src/publish.ts', import.meta.url));
  const { GITHUB_ACTIONS: _, ...env } = process.env;
  await expect(run(process.execPath, [program], { env })).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^There is no release:(\n.*)*Only the release workflow publishes/,
    ),
  });
});
