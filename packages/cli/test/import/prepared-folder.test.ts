import { execFileSync } from 'node:child_process';
import { existsSync, readlinkSync, symlinkSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

const JOURNAL = 'input.csv.shortlink-journal';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
  world.writeRows(2);
  world.write('.bashrc', 'mine\n');
});
afterEach(() => {
  expect(world.read('.bashrc')).toBe('mine\n');
  world.dispose();
});

describe('the journal', () => {
  test.each([
    ['itself', JOURNAL, '.bashrc'],
    ['itself, to nothing', JOURNAL, 'new'],
    ['what undoes a commit', `${JOURNAL}-journal`, '.bashrc'],
  ])('is refused where it is a link: %s', async (_, name, target) => {
    symlinkSync(target, world.path(name));
    for (const changes of [{}, { restart: true }, { dryRun: true }]) {
      await expect(world.import(changes)).rejects.toMatchObject({
        code: 'input',
        message: expect.stringContaining('it is a symbolic link'),
        hint: expect.stringContaining('--journal'),
      });
    }
    expect(existsSync(world.path('new'))).toBe(false);
    expect(world.service.requests).toBe(0);
  });

  test('is refused where it is a pipe, at once', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$0"', world.path(JOURNAL)]);
    for (const changes of [{}, { restart: true }, { dryRun: true }]) {
      await expect(world.import(changes)).rejects.toMatchObject({
        code: 'input',
        message: expect.stringContaining('it is a pipe or device'),
      });
    }
  });
});

describe('outputs with their usual names', () => {
  const usualNames = { output: true, rejects: true };

  test('are refused where they are links', async () => {
    for (const [name, option] of [
      ['input.csv.results.csv', '-o'],
      ['input.csv.rejects.csv', '--rejects'],
    ] as const) {
      if (option === '--rejects') world.write('input.csv', 'url\nnone\n');
      symlinkSync('.bashrc', world.path(name));
      await expect(world.import({ usualNames })).rejects.toMatchObject({
        code: 'input',
        message: expect.stringContaining(`${name} is not written: it is a symbolic link`),
        hint: expect.stringContaining(`${option} FILE`),
      });
      expect(world.service.requests).toBe(0);
    }
  });

  test('a link that the user names is followed', async () => {
    symlinkSync('results.csv', world.path('link'));
    const named = { output: false, rejects: true };
    await world.import({ usualNames: named, output: world.path('link') });
    expect(readlinkSync(world.path('link'))).toBe('results.csv');
    expect(world.table('results.csv')).toHaveLength(3);
  });
});
