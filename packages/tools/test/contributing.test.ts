import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../src/manifests.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const PAGES = [
  'CONTRIBUTING.md',
  'SUPPORT.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'CHANGELOG.md',
];
const scripts: Record<string, string> = JSON.parse(read('package.json')).scripts;

describe.each(PAGES)('%s', (page) => {
  const text = read(page);

  test('links only to files that exist', () => {
    const targets = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = '']) => target);
    const missing = targets.filter((target) => !existsSync(join(ROOT, dirname(page), target)));
    expect(missing).toEqual([]);
  });

  test('names only commands that exist', () => {
    const named = [...text.matchAll(/\bpnpm(?:@\d+)? (?!exec\b|alone\b)([a-z][\w:]*)/g)];
    const unknown = named.map(([, name = '']) => name).filter((name) => !(name in scripts));
    expect(unknown).toEqual([]);
  });
});

describe('the map of CONTRIBUTING.md', () => {
  const rows = read('CONTRIBUTING.md')
    .split('\n')
    .filter((line) => /^\| (?!\*\*|to change)[^-]/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));

  test.each(rows)('| %s%s | %s | %s |', (_, _change, places = '', command = '') => {
    let folder = '';
    for (const [, place = ''] of places.matchAll(/`([^`]+)`/g)) {
      if (place.startsWith('/')) continue;
      // A name without a folder belongs to the folder of the file or the folder that was named before it.
      const path = [place, join(folder, place)].find((name) => existsSync(join(ROOT, name)));
      expect(path, place).toBeDefined();
      if (place.includes('/') && path === place) {
        folder = place.endsWith('/') ? place : dirname(place);
      }
    }
    const [, project, filter] = /^`(?:--project (\w+) ?)+([\w-]*)`$/.exec(command) ?? [];
    if (filter) {
      const tests = globSync(`packages/${project}/{src,test}/**/*.test.ts`, { cwd: ROOT });
      expect(
        tests.some((file) => file.includes(filter)),
        command,
      ).toBe(true);
    }
    if (project === undefined) expect(command).toMatch(/^`pnpm [\w:]+`$/);
  });
});
