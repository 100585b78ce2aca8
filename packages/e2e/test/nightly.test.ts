import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { partsOf } from '../scripts/nightly/parts.ts';
import { againOf, issueOf, type PlayedPart, pageWith } from '../scripts/nightly/played.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string) => readFileSync(`${ROOT}${path}`, 'utf8');

const night = (day: number, failure?: string): PlayedPart => ({
  name: 'imports',
  date: `2026-11-${day}`,
  command: 'pnpm simulate',
  amount: 200_000,
  unit: 'seeds',
  ...(failure !== undefined && { failure }),
});

test('the workflow plays every part, and no other', () => {
  const { jobs } = parse(read('.github/workflows/nightly.yml'));
  expect(jobs.play.strategy.matrix.part.toSorted()).toEqual(Object.keys(partsOf(1)).toSorted());
});

test('no two nights draw from the same seeds', () => {
  const seedsOf = (day: number) =>
    Object.values(partsOf(day)).flatMap(({ command }) => {
      const at = (name: string) => Number(command[command.indexOf(name) + 1]);
      return command.includes('--from') ? [[at('--from'), at('--from') + at('--seeds')]] : [];
    });
  const [first, second] = [seedsOf(20_782), seedsOf(20_783)];
  expect(first).toHaveLength(3);
  expect(first.map(([, end]) => end)).toEqual(second.map(([start]) => start));
});

test('every script that works for long is run by a schedule', () => {
  const { scripts }: { scripts: object } = JSON.parse(read('packages/e2e/package.json'));
  const scheduled = read('.github/workflows/weekly.yml').concat(
    ...Object.values(partsOf(1)).map(({ command }) => `${command.join(' ')}\n`),
  );
  const root = ['simulate', 'simulate:server', 'failovers', 'mutants', 'bench', 'image:rehearse'];
  const missing = [...Object.keys(scripts), ...root].filter((name) => !scheduled.includes(name));
  expect(missing).toEqual([]);
});

test('the page counts every night once, and failed ones apart', () => {
  let page = '';
  for (const part of [night(24), night(25, 'seed 7: lost'), night(25), night(26)]) {
    page = pageWith(page, [part]);
  }
  expect(page.split('\n').slice(-2)).toEqual([
    '| imports | 400,000 | seeds | 3 | 1 | 2026-11-24 | 2026-11-26 |',
    '',
  ]);
  expect(pageWith(page, [])).toBe(page);
});

test('each failing seed is played again as the simulation says, on the same database', () => {
  const output = [
    '20 of 40 seeds, up to about seed 20, 0 failures',
    'seed 31: 429 although no window is full',
    '  pnpm simulate:server --postgres --seed 31',
    'seed 34: an account is gone',
    '  pnpm simulate:server --postgres --seed 34',
    'seed 34 fails without a planted bug too: an account is gone',
    '  pnpm simulate:server --postgres --seed 34',
  ];
  expect(againOf(output.join('\n'))).toEqual([
    ['simulate:server', '--postgres', '--seed', '31'],
    ['simulate:server', '--postgres', '--seed', '34'],
  ]);
  expect(againOf('seed 7: the fuzzer names no command')).toEqual([]);
});

test('the issue of a failure has one title every night, and shows the output as text', () => {
  const [issue, later] = [issueOf(night(24, 'a ```` b')), issueOf(night(25, 'c'))];
  expect(issue.title).toBe(later.title);
  expect(issue.body).toContain('\n`````text\na ```` b\n`````\n');
});
