import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { processIo } from './io.ts';

test('a user without a name and without HOME, as in a container, has the root folder as home', () => {
  const homedir = vi.spyOn(os, 'homedir').mockImplementation(() => {
    throw new Error('A system error occurred: uv_os_homedir returned ENOENT');
  });
  onTestFinished(() => {
    homedir.mockRestore();
    syncBuiltinESMExports();
  });
  syncBuiltinESMExports();
  expect(processIo().home).toBe('/');
});
