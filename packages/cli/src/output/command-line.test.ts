import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { commandLine } from './command-line.ts';

test('a shell reads the words back as they were', () => {
  const argv = ['import', 'my links.csv', '--map', 'title=It\'s $HOME `x` \\ "q"', '--tag', ''];
  const script = commandLine(argv).replace(/^shortlink/, 'printf "%s\\n"');
  expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' })).toBe(`${argv.join('\n')}\n`);
});

test('an API key is replaced, --restart is left out', () => {
  expect(commandLine(['import', 'a', '--api-key', 'sl_x', '--restart'])).toBe(
    'shortlink import a --api-key "$SHORTLINK_API_KEY"',
  );
  expect(commandLine(['--api-key=sl_x', 'usage'])).toBe(
    'shortlink --api-key="$SHORTLINK_API_KEY" usage',
  );
});

test.each([['--max-wait', '2m'], ['--max-wait=2m'], []])(
  'a wait that is too short is replaced by one that is long enough: %s %s',
  (...words) => {
    const argv = ['import', ...words, 'a.csv'];
    expect(commandLine(argv, 7_200_000)).toBe('shortlink import a.csv --max-wait 3h');
    expect(commandLine(argv)).toBe(['shortlink', ...argv].join(' '));
  },
);
