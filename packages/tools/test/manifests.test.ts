import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  EXAMPLE_REPOSITORY,
  MENTIONS,
  PUBLISHED,
  ROOT,
  readManifest,
  releaseProblems,
  repositoryFields,
  repositoryUrl,
  SITE_MENTIONS,
  siteUrl,
  slugOf,
  spreadRepository,
} from '../src/manifests.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'shortlink-manifests-'));
  const files = ['package.json', ...PUBLISHED.map((folder) => `${folder}/package.json`)];
  for (const file of [...files, ...MENTIONS, ...SITE_MENTIONS]) {
    await cp(join(ROOT, file), join(root, file));
  }
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Sets the address of the repository in the root manifest of the copy, as a maintainer does. */
async function moveTo(url: string): Promise<void> {
  const path = join(root, 'package.json');
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...manifest, repository: url }));
}

test('every published package names the repository of the root manifest, and says what it is', async () => {
  const url = await repositoryUrl();
  for (const folder of PUBLISHED) {
    const manifest = await readManifest(folder);
    expect(manifest).toMatchObject(repositoryFields(url, folder));
    expect(manifest.keywords?.length, folder).toBeGreaterThanOrEqual(5);
    expect(manifest.private).toBeUndefined();
  }
  for (const file of MENTIONS) {
    expect(await readFile(join(ROOT, file), 'utf8')).toContain(slugOf(url));
  }
  for (const file of SITE_MENTIONS) {
    expect(await readFile(join(ROOT, file), 'utf8')).toContain(siteUrl(url));
  }
});

test('one edit and one command move everything to another address, and back again', async () => {
  await moveTo('https://github.com/acme/links');
  expect(await releaseProblems(root)).toEqual(
    PUBLISHED.map((folder) => expect.stringContaining(`${folder}/package.json`)),
  );
  await spreadRepository(root);
  expect(await releaseProblems(root)).toEqual([]);
  expect(await readManifest('packages/cli', root)).toMatchObject({
    homepage: 'https://acme.github.io/links/start/cli',
    repository: { url: 'git+https://github.com/acme/links.git', directory: 'packages/cli' },
  });
  for (const file of MENTIONS) {
    const text = await readFile(join(root, file), 'utf8');
    expect(text).toContain('acme/links');
    expect(text).not.toContain(slugOf(EXAMPLE_REPOSITORY));
  }
  for (const file of SITE_MENTIONS) {
    const text = await readFile(join(root, file), 'utf8');
    expect(text).toContain('https://acme.github.io/links/');
    expect(text).not.toContain(siteUrl(EXAMPLE_REPOSITORY));
  }

  await moveTo(await repositoryUrl());
  await spreadRepository(root);
  for (const file of [
    ...PUBLISHED.map((folder) => `${folder}/package.json`),
    ...MENTIONS,
    ...SITE_MENTIONS,
  ]) {
    expect(await readFile(join(root, file), 'utf8')).toBe(await readFile(join(ROOT, file), 'utf8'));
  }
});

test('a release is refused while the address is the example', async () => {
  await moveTo(EXAMPLE_REPOSITORY);
  await spreadRepository(root);
  expect(await releaseProblems(root)).toEqual([expect.stringContaining('still the example')]);
});

test('a release is refused while the versions differ', async () => {
  await moveTo('https://github.com/acme/links');
  await spreadRepository(root);
  const manifest = await readManifest('packages/sdk', root);
  const text = JSON.stringify({ ...manifest, version: '9.9.9' });
  await writeFile(join(root, 'packages/sdk/package.json'), text);
  expect(await releaseProblems(root)).toEqual([expect.stringContaining('different versions')]);
});
