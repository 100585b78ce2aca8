// Raises the version by what the changesets say, and writes the change logs: pnpm release:version
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MENTIONS, ROOT, readManifest } from './manifests.ts';

/** Files that repeat the version. */
const REPEATED = ['packages/sdk/src/http/send.ts', ...MENTIONS];

const pnpm = (...args: string[]) =>
  execFileSync('npx', ['-y', 'pnpm@12', ...args], { cwd: ROOT, stdio: 'inherit' });

const { version: before } = await readManifest('packages/sdk');
pnpm('changeset', 'version');
const { version } = await readManifest('packages/sdk');
for (const file of REPEATED) {
  const text = await readFile(join(ROOT, file), 'utf8');
  await writeFile(join(ROOT, file), text.replaceAll(before, version));
}
pnpm('install', '--lockfile-only');
pnpm('build');
pnpm('api:update', '--released');
