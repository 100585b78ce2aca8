import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeLock } from './lock.ts';

let directory: string;
let journal: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'shortlink-lock-'));
  journal = join(directory, 'journal');
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Id of a process that has ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '0']).pid;
}

/** Leaves the lock that a process would. */
function leaveLock(owner: {
  pid: number;
  started?: string;
  host?: string;
  random?: string;
}): string {
  const { pid, started = '', host = hostname(), random = '00000000' } = owner;
  const hostId = hash('sha256', host).slice(0, 8);
  const path = `${journal}.lock.${[pid, started, hostId, random].join('.')}`;
  writeFileSync(path, host);
  return path;
}

test('is held until it is released', async () => {
  const lock = await takeLock(journal);
  await expect(takeLock(journal)).rejects.toMatchObject({
    message: expect.stringContaining(`in use by process ${process.pid}`),
    hint: expect.stringContaining(`${journal}.lock.`),
    exitCode: 2,
  });
  await (await takeLock(`${journal}2`)).release();
  await lock.release();
  expect(readdirSync(directory)).toEqual([]);
  await (await takeLock(journal)).release();
});

test('of a process that is gone is taken over and cleared away', async () => {
  leaveLock({ pid: deadPid() });
  const lock = await takeLock(journal);
  await expect(takeLock(journal)).rejects.toThrow('in use');
  await lock.release();
  expect(readdirSync(directory)).toEqual([]);
});

test('of an earlier process with our own id is taken over, as in a container that starts anew', async () => {
  leaveLock({ pid: process.pid, started: '1' });
  await (await takeLock(journal)).release();
});

test('of another machine stands, since nobody here can tell', async () => {
  leaveLock({ pid: 1, host: 'elsewhere.example' });
  await expect(takeLock(journal)).rejects.toThrow('in use by process 1 on elsewhere.example');
});

test('of another name stands, since nobody can tell whose it is', async () => {
  const path = `${journal}.lock.mine`;
  writeFileSync(path, '');
  await expect(takeLock(journal)).rejects.toMatchObject({
    message: expect.stringContaining('in use by another run'),
    hint: expect.stringContaining(path),
  });
});

test('of a process that was killed before it had written a byte is taken over', async () => {
  writeFileSync(leaveLock({ pid: deadPid() }), '');
  await (await takeLock(journal)).release();
  expect(readdirSync(directory)).toEqual([]);
});

test('is never held by two, however many begin at once over what dead ones left', async () => {
  const pid = deadPid();
  for (let round = 0; round < 10; round += 1) {
    leaveLock({ pid, random: '0000000a' });
    leaveLock({ pid, random: '0000000b' });
    const taken = await Promise.allSettled(Array.from({ length: 6 }, () => takeLock(journal)));
    const held = taken.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(held.length).toBeLessThanOrEqual(1);
    await Promise.all(held.map((lock) => lock.release()));
  }
  expect(readdirSync(directory)).toEqual([]);
});
