import { homedir } from 'node:os';
import { expect, test, vi } from 'vitest';
import { processIo } from './io.ts';

vi.mock('node:os', { spy: true });

test('a user without a name and without HOME, as in a container, has the root folder as home', () => {
  vi.mocked(homedir).mockImplementation(() => {
    throw new Error('A system error occurred: uv_os_homedir returned ENOENT');
  });
  expect(processIo().home).toBe('/');
});
