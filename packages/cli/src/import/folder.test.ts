import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ImportHarness } from '../../test/import/import-harness.ts';
import { testFolder } from '../../test/test-io.ts';
import { openOutput } from './report/output-file.ts';

/** The error of each sync of a folder. */
let failure: string | undefined;

beforeEach(async () => {
  failure = undefined;
  const handle = await open(tmpdir(), 'r');
  const anyHandle: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync } = anyHandle;
  vi.spyOn(anyHandle, 'sync').mockImplementation(async function (this: FileHandle) {
    if (failure === undefined || !(await this.stat()).isDirectory()) return sync.call(this);
    throw Object.assign(new Error(`${failure}: fsync`), { code: failure, syscall: 'fsync' });
  });
});
afterEach(() => {
  vi.restoreAllMocks();
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
