import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openSpool } from './spool.ts';

test('gives values back in their order, from a file that has no name', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'spool-'));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });
  const spool = await openSpool<string[]>();
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

test('names the temporary folder where a value finds no room in it', async () => {
  const module = fileURLToPath(new URL('./spool.ts', import.meta.url));
  const script = `
    const { openSpool } = await import(process.argv[1]);
    const spool = await openSpool();
    await spool.add('x'.repeat(2_000)).catch((error) => console.log(error.message));
    await spool.close();`;
  // A file may have 512 or 1,024 bytes there: a part of the value is written.
  const limited = `ulimit -f 1; exec "$0" "$@"`;
  const node = [process.execPath, '--input-type=module', '--eval', script, module];
  const { stdout } = await promisify(execFile)('sh', ['-c', limited, ...node]);
  expect(stdout.trim()).toBe(
    `The temporary folder ${tmpdir()} can't be written: files may not become so large here. TMPDIR names another one.`,
  );
});
