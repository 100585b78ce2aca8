import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

describe('a journal is for one import', () => {
  beforeEach(async () => {
    world.writeRows(10);
    await world.import();
  });

  test('not for an input that changed', async () => {
    world.writeRows(11);
    await expect(world.import()).rejects.toMatchObject({
      message: expect.stringContaining('input.csv has changed'),
      hint: expect.stringContaining('--restart'),
      exitCode: 2,
    });
    expect(world.service.asked).toHaveLength(1);
  });

  test.each([
    ['another mapping', { map: { tags: 'name' } }, 'mapping'],
    ['other default tags', { defaults: { tags: ['x'] } }, 'default tags'],
    [
      'another key',
      { target: { baseUrl: 'https://api.example', keyFingerprint: 'k2' } },
      'API key',
    ],
    [
      'another service',
      { target: { baseUrl: 'https://b.example', keyFingerprint: 'key' } },
      'b.example',
    ],
  ])('not for %s', async (_, changes, word) => {
    await expect(world.import(changes)).rejects.toThrow(word);
    expect(world.service.asked).toHaveLength(1);
  });

  test('not for a file that is no journal, --restart or not', async () => {
    for (const restart of [false, true]) {
      world.write('data.csv', 'precious\n');
      await expect(world.import({ journal: world.path('data.csv'), restart })).rejects.toThrow(
        'not an import journal',
      );
      expect(world.read('data.csv')).toBe('precious\n');
    }
  });

  test('--restart takes a journal that is damaged in the middle', async () => {
    const lines = world.read('input.csv.shortlink-journal').split('\n');
    lines.splice(1, 0, '{"t":"se');
    world.write('input.csv.shortlink-journal', lines.join('\n'));
    await expect(world.import()).rejects.toThrow('damaged at line 2');
    expect(await world.import({ restart: true })).toMatchObject({ created: 10 });
  });
});

test('two runs on one journal at once: the second refuses', async () => {
  world.writeRows(10);
  const other = new ImportHarness();
  let second: unknown;
  world.service.hold = async () => {
    second = await other.import(world.settings()).catch((error: unknown) => error);
  };
  await world.import();
  expect(second).toMatchObject({ message: expect.stringContaining('in use by process') });
  expect(other.service.requests).toBe(0);
  other.dispose();
  expect(await world.import()).toMatchObject({ created: 10 });
});
