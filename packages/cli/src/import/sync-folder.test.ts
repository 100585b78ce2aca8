import { type FileHandle, open } from 'node:fs/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ImportHarness } from '../../test/import/import-harness.ts';
import { testFolder } from '../../test/test-io.ts';
import { openOutput } from './report/output-file.ts';

/** The error of each sync of a folder. */
let failure: string | undefined;

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  return { ...original, open: vi.fn(original.open) };
});

const { open: realOpen } =
  await vi.importActual<typeof import('node:fs/promises')>('node:fs/promises');

beforeEach(() => {
  failure = undefined;
  vi.mocked(open).mockImplementation(async (path, flags, mode) => {
    const handle = await realOpen(path, flags, mode);
    if ((await handle.stat()).isDirectory()) failSync(handle);
    return handle;
  });
});

function failSync(handle: FileHandle): void {
  handle.sync = async () => {
    if (failure === undefined) return;
    throw Object.assign(new Error(`${failure}: fsync`), { code: failure, syscall: 'fsync' });
  };
}

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
