import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

let harness: ImportHarness;
beforeEach(() => {
  harness = new ImportHarness();
  // The last of what a test asks for is done first: a mounted file can't be removed.
  onTestFinished(() => harness.dispose());
});

const ROWS = 'url\nhttps://example.com/0\nhttps://example.com/1\n';
const digits = createHash('sha256').update('input.csv').digest('hex').slice(0, 24);
const WHOLE = `.input.csv.${digits}.whole`;

const inPlace = (changes = {}) => {
  const output = harness.path('input.csv');
  return harness.import({ inPlace: true, output, ...changes });
};

test('a file that is mounted by itself is filled in, and stays the same file', async ({ skip }) => {
  harness.write('input.csv', ROWS);
  const path = harness.path('input.csv');
  // Only root may mount. Elsewhere the simulator alone plays it.
  const mounted = spawnSync('mount', ['--bind', path, path]);
  if (mounted.status !== 0) skip('no file can be mounted here');
  onTestFinished(() => void spawnSync('umount', [path]));
  const { ino } = statSync(path);
  expect(await inPlace()).toMatchObject({ created: 2 });
  expect(statSync(path).ino).toBe(ino);
  expect(harness.files()).toEqual(['input.csv', 'input.csv.shortlink-journal']);
  // The new content is shorter than the old one.
  const reason = 'no '.repeat(1_000);
  harness.write(
    'input.csv',
    `${harness.read('input.csv')}https://example.com/2,,,failed,${reason}\n`,
  );
  expect(await inPlace()).toMatchObject({ created: 1, existing: 2 });
  expect(harness.created()).toEqual({ links: 3, duplicates: 0 });
  expect(harness.statuses('input.csv')).toEqual(['created', 'created', 'created']);
});

test.each([
  ['nothing', (text: string) => text.slice(0, 0)],
  ['its beginning', (text: string) => text.slice(0, 70)],
  ['its beginning, and zeros', (text: string) => text.slice(0, 70).padEnd(text.length, '\0')],
  ['all of it', (text: string) => text],
])(
  'a run that was killed while it wrote into such a file has left %s, and the next one restores it',
  async (_, cut) => {
    harness.write('input.csv', ROWS);
    await inPlace();
    const text = harness.read('input.csv');
    harness.write(WHOLE, text);
    harness.write('input.csv', cut(text));
    expect(await inPlace()).toMatchObject({ created: 0, existing: 2 });
    expect(harness.read('input.csv')).toBe(text);
    expect(harness.files()).toEqual(['input.csv', 'input.csv.shortlink-journal']);
  },
);

test('what somebody has written into the file since is not replaced, and a dry run writes nothing', async () => {
  const [before, whole] = [ROWS.replace('/1', '/new'), `${ROWS}https://example.com/2\n`];
  harness.write('input.csv', before);
  harness.write(WHOLE, whole);
  await expect(inPlace()).rejects.toThrow(`Its whole content is in ${harness.path(WHOLE)}`);
  expect(harness.read('input.csv')).toBe(before);
  harness.write('input.csv', '');
  await expect(inPlace({ dryRun: true })).rejects.toMatchObject({ code: 'input' });
  expect([harness.read('input.csv'), harness.read(WHOLE)]).toEqual(['', whole]);
});
