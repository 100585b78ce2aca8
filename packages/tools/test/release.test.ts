import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { PUBLISHED, ROOT, readManifest } from '../src/manifests.ts';

const run = promisify(execFile);

describe.each(PUBLISHED)('%s', (folder) => {
  test('holds the files that its README names, its change log, and no test', async () => {
    const pack = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const { stdout } = await run('npm', pack, { cwd: join(ROOT, folder) });
    const files: string[] = JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => path);
    expect(files).toEqual(
      expect.arrayContaining(['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md']),
    );
    const readme = await readFile(join(ROOT, folder, 'README.md'), 'utf8');
    const named = [...readme.matchAll(/\]\((?!\w+:|\.\.|#)(?:\.\/)?([^)#]+)/g)]
      .map(([, target = '']) => target.replace(/\/$/, ''))
      .filter((target) => !files.some((file) => file === target || file.startsWith(`${target}/`)));
    expect(named).toEqual([]);
    expect(files.filter((file) => /(^|\/)(test|src|api)\/|\.test\./.test(file))).toEqual([]);
  });
});

test('the version of the SDK in User-Agent is that of its package', async () => {
  const { version } = await readManifest('packages/sdk');
  const source = await readFile(join(ROOT, 'packages/sdk/src/http/send.ts'), 'utf8');
  expect(source).toContain(`VERSION = '${version}'`);
});

test('nothing is published from here', async () => {
  const program = fileURLToPath(new URL('../src/release-publish.ts', import.meta.url));
  const { GITHUB_ACTIONS: _, ...env } = process.env;
  await expect(run(process.execPath, [program], { env })).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^There is no release:(\n.*)*Only the release workflow publishes/,
    ),
  });
});
