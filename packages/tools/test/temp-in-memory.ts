import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import process, { env } from 'node:process';

/** Where Linux keeps files in memory. */
const MEMORY = '/dev/shm';

/** More than all tests have there at the same time. */
const NEEDED_BYTES = 6 * 1024 ** 3;

const PREFIX = 'shortlink-tests-';

/** The folder of a run that was killed is removed by a later one, after so long. */
const LEFT_MS = 3_600_000;

/**
 * Lets this process, and those that it starts, have their temporary files in memory: a disk takes two thirds of the time of tests that
 * sync what they write, as databases and journals do, and a third of their CPU time. What a process writes outlives its kill there too.
 * Nothing changes where TMPDIR is set already, or where memory has no room or runs no programs. The files are removed when this process exits.
 */
export function keepTempInMemory(): void {
  if (env['TMPDIR'] !== undefined || !hasRoom()) return;
  removeLeft();
  const folder = join(MEMORY, `${PREFIX}${process.pid}`);
  remove(folder);
  // As the system's own: PostgreSQL runs as another user.
  mkdirSync(folder, { mode: 0o755, recursive: true });
  process.once('exit', () => remove(folder));
  if (runsPrograms(folder)) env['TMPDIR'] = folder;
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= NEEDED_BYTES;
  } catch {
    return false;
  }
}

/** A container may forbid it. */
function runsPrograms(folder: string): boolean {
  const program = join(mkdtempSync(join(folder, 'program-')), 'true');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  return spawnSync(program).status === 0;
}

function removeLeft(): void {
  for (const name of readdirSync(MEMORY).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(MEMORY, name);
    // Another run may be removing it.
    const changedMs = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    const isOld = Date.now() - changedMs > LEFT_MS;
    if (isOld && !isRunning(Number(name.slice(PREFIX.length)))) remove(folder);
  }
}

/** What can't be removed, such as a file that a killed test has mounted, must not end all later runs. */
function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // It stays.
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
