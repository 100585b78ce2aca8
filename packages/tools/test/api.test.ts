import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Reports,
  readReports,
  reportSurface,
  undeclaredPackages,
  writeReports,
} from '../src/api-report.ts';
import { ROOT } from '../src/manifests.ts';

let built: Reports;
let committed: Reports;
beforeAll(async () => {
  [built, committed] = await Promise.all([reportSurface(), readReports()]);
});

describe('what users call and type', () => {
  test.each(['sdk', 'cli', 'server'] as const)(
    'of the %s is what is recorded (after a change: pnpm changeset, pnpm build, pnpm api:update)',
    (name) => {
      expect(built[name]).toEqual(committed[name]);
    },
  );

  test('has the types, the commands, the flags and the exit codes', () => {
    expect(built.sdk['index.api.md']).toMatch(/^export class Shortlink \{/m);
    expect(built.sdk['index.api.md']).toMatch(/^ {4}maxRetries\?: number/m);
    expect(built.sdk['wire.api.md']).toContain('export const linkSchema');
    expect(built.server['testing.api.md']).toContain('export function startTestServer');
    expect(built.cli['commands.txt']).toMatch(
      /^shortlink import .*\n(?: {2}.*\n)* {2}--in-place$/m,
    );
    expect(built.cli['commands.txt']).toContain('\n  130 interrupted\n');
    expect(built.server['commands.txt']).toMatch(/^shortlink-server keys rotate/m);
  });

  test('has changed since the last release only where a changeset says so', async () => {
    expect(await undeclaredPackages()).toEqual([]);
  });
});

describe('a changed surface', () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'shortlink-api-test-'));
    await cp(
      join(ROOT, '.changeset/released-api.json'),
      join(root, '.changeset/released-api.json'),
    );
    const lines = `${committed.cli['commands.txt']}  --new-flag\n`;
    await writeReports({ ...committed, cli: { 'commands.txt': lines } }, root);
  });
  afterAll(() => rm(root, { recursive: true, force: true }));
  const declare = (text: string) => writeFile(join(root, '.changeset/brave-cat.md'), text);

  test('must be declared for the package that has changed', async () => {
    expect(await undeclaredPackages(root)).toContain('@shortlink/cli');
    await declare('---\n"@shortlink/sdk": minor\n---\n\nNot about @shortlink/cli.\n');
    expect(await undeclaredPackages(root)).toContain('@shortlink/cli');
    await declare('---\n"@shortlink/cli": minor\n---\n\nA new flag.\n');
    expect(await undeclaredPackages(root)).not.toContain('@shortlink/cli');
  });
});
