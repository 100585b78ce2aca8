import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** Gives every test of a group a path for a database file in a directory of its own, which is removed afterwards. */
export function useDatabasePath(): () => string {
  let directory = '';
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'shortlink-store-'));
  });
  afterEach(async () => {
    await rm(directory, { recursive: true, force: true });
  });
  return () => join(directory, 'shortlink.db');
}
