import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import process from 'node:process';
import { setImmediate as nextTurn } from 'node:timers/promises';
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

test('the process has one listener for a signal while anybody waits for it, and in the turn after', async () => {
  const count = () => process.listenerCount('SIGTERM');
  const before = count();
  const { onInterrupt } = processIo();
  const ends = [onInterrupt(() => {}), onInterrupt(() => {})];
  expect(count()).toBe(before + 1);
  for (const end of ends) end();
  // The spinner's own listener comes last, and ends the process where it finds no other.
  expect(count()).toBe(before + 1);
  await nextTurn();
  expect(count()).toBe(before);
});

test('the warning that node:sqlite is new is not for users, but every other one is', () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  const { emitWarning: before } = process;
  onTestFinished(() => {
    process.emitWarning = before;
    emitWarning.mockRestore();
  });
  processIo();
  process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning');
  process.emitWarning('SQLite is old', 'DeprecationWarning');
  process.emitWarning('Other is an experimental feature', 'ExperimentalWarning');
  expect(emitWarning.mock.calls).toEqual([
    ['SQLite is old', 'DeprecationWarning'],
    ['Other is an experimental feature', 'ExperimentalWarning'],
  ]);
});
