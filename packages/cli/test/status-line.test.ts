import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { GOOD } from './import-scene.ts';
import { KEY, stubService } from './stub-service.ts';
import { type CliOptions, cli, testFolder } from './test-io.ts';

const VERIFIED = 'short_url,url\nhttp://localhost:1/a,https://example.com\n';

/** A terminal, a log, and `--json`. */
const OUTPUTS: [string, CliOptions['tty'], string[]][] = [
  ['a terminal', { stderr: true }, []],
  ['a log', undefined, []],
  ['JSON', undefined, ['--json']],
];

test.each(OUTPUTS)(
  'no status line is drawn on %s once its command has ended',
  async (_, tty, flags) => {
    const [{ env }, folder] = [await stubService(), await testFolder()];
    const at = (name: string) => join(folder, name);
    for (const [name, text] of [
      ['good.csv', GOOD],
      ['other.csv', GOOD.replaceAll('/', '//')],
      ['bad.csv', 'name\nx\n'],
      ['links.csv', VERIFIED],
    ] as const) {
      await writeFile(at(name), text);
    }
    const timers = vi.spyOn(globalThis, 'setInterval');
    onTestFinished(() => void timers.mockRestore());
    for (const argv of [
      ['import', at('good.csv')],
      ['import', at('bad.csv')],
      ['import', at('good.csv'), at('bad.csv')],
      ['verify', at('links.csv'), '--max-retries', '0'],
      ['job', 'wait', 'unknown'],
    ]) {
      await cli([...argv, ...flags], { env, tty });
      const left = timers.mock.results.filter(({ value }) => !Reflect.get(value, '_destroyed'));
      expect([timers.mock.calls.length > 0, left], argv.join(' ')).toEqual([true, []]);
      timers.mockClear();
    }
  },
);

test('a status line on a terminal never shows the key', async () => {
  const [{ env }, folder] = [await stubService(), await testFolder()];
  const file = join(folder, `${KEY}.csv`);
  await writeFile(file, GOOD);
  const { stderr } = await cli(['import', file], { env, tty: { stderr: true } });
  expect(stderr).toContain('Checking');
  expect(stderr).not.toContain(KEY);
});
