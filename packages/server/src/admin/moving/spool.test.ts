import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Spool } from './spool.ts';

test('gives values back in their order, from a file that has no name', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'spool-'));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });
  const spool = await Spool.open<string[]>();
  const values = [['é'], [], ['😀'.repeat(30_000), '\n']];
  for (const value of values) await spool.add(value);
  expect(await readdir(folder)).toEqual([]);
  for (let time = 0; time < 2; time += 1) {
    const read: string[][] = [];
    for await (const value of spool.read()) read.push(value);
    expect(read).toEqual(values);
  }
  await spool.close();
  await expect(spool.add([])).rejects.toThrow();
});
