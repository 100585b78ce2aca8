import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ImportHarness } from '../../test/import/import-harness.ts';
import { testFolder } from '../../test/test-io.ts';
import { openOutput } from './report/output-file.ts';
import { finishReplacement } from './report/replacement.ts';

/** The error of each sync of a folder, and what was synced before: a file, and whether its target was there by then, or a folder. */
let failure: string | undefined;
let synced: (boolean | 'folder')[];
let target: string;

beforeEach(async () => {
  failure = undefined;
  synced = [];
  target = '';
  const handle = await open(tmpdir(), 'r');
  const anyHandle: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync } = anyHandle;
  vi.spyOn(anyHandle, 'sync').mockImplementation(async function (this: FileHandle) {
    const isFolder = (await this.stat()).isDirectory();
    synced.push(isFolder ? 'folder' : existsSync(target));
    if (failure === undefined || !isFolder) return sync.call(this);
    throw Object.assign(new Error(`${failure}: fsync`), { code: failure, syscall: 'fsync' });
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

test('a file is on the disk before it has its name, and its name before it is called written', async () => {
  target = `${await testFolder()}/out.csv`;
  const output = await openOutput(target, { stdout: { write: () => {} } });
  await output.write('a\n');
  await output.finish();
  expect(synced).toEqual([false, 'folder']);
});

test('the copy of a file that can not be replaced goes once the file is on the disk', async () => {
  const path = `${await testFolder()}/out.csv`;
  const digits = createHash('sha256').update('out.csv').digest('hex').slice(0, 24);
  target = join(dirname(path), `.out.csv.${digits}.whole`);
  writeFileSync(path, 'a');
  writeFileSync(target, 'a,b\n');
  await finishReplacement(path, true);
  expect(synced).toEqual([true]);
  expect([readFileSync(path, 'utf8'), existsSync(target)]).toEqual(['a,b\n', false]);
});

describe('where the disk reports an error', () => {
  test('nothing is sent, because the journal may not be there after a power cut', async () => {
    const world = new ImportHarness();
    world.writeRows(3);
    failure = 'EIO';
    await expect(world.import()).rejects.toThrow(
      /shortlink-journal can't be written: the disk reports an error/,
    );
    expect(world.service.requests).toBe(0);
    failure = undefined;
    expect(await world.import()).toMatchObject({ created: 3 });
    world.dispose();
  });

  test('an output is not called written', async () => {
    const path = `${await testFolder()}/out.csv`;
    const output = await openOutput(path, { stdout: { write: () => {} } });
    await output.write('a\n');
    failure = 'ENOSPC';
    await expect(output.finish()).rejects.toThrow("out.csv can't be written: the disk is full");
    await output.discard();
  });
});

test.each(['EINVAL', 'EPERM', 'EISDIR', 'ENOTSUP', 'ENOSYS'])(
  'a file system that can not sync folders (%s) is no obstacle',
  async (code) => {
    const world = new ImportHarness();
    world.writeRows(3);
    failure = code;
    expect(await world.import()).toMatchObject({ created: 3, stopped: undefined });
    world.dispose();
  },
);
