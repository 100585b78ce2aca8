// Which lines `pnpm mutants` changes, and which tests it tries a change with.
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { slowTestsOf } from '../../../vitest.config.ts';
import { ROOT } from './manifests.ts';

/** Numbers of the lines of each file that were changed since a commit, by the diff without context. */
export function changedLines(since: string): Map<string, Set<number>> {
  const diff = execFileSync('git', ['diff', '--unified=0', since, '--', 'packages'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const lines = new Map<string, Set<number>>();
  let file = '';
  for (const line of diff.split('\n')) {
    if (line.startsWith('+++ b/')) file = line.slice(6);
    const [, from, count = '1'] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (from === undefined) continue;
    const numbers = lines.get(file) ?? new Set();
    lines.set(file, numbers);
    for (let n = 0; n < Number(count); n += 1) numbers.add(Number(from) + n);
  }
  return lines;
}

/** Files of a package by what they import, with relative paths. */
const graphs = new Map<string, Map<string, string[]>>();

const IMPORT = /(?:from|import|import\() ?'(\.[^']+)'/g;

function graphOf(root: string): Map<string, string[]> {
  const known = graphs.get(root);
  if (known !== undefined) return known;
  const importers = new Map<string, string[]>();
  for (const file of globSync('{src,test}/**/*.ts', { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [, path = ''] of text.matchAll(IMPORT)) {
      const imported = relative(root, join(root, dirname(file), path));
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
  }
  graphs.set(root, importers);
  return importers;
}

/**
 * @param root - folder of the package
 * @param file - relative to it
 * @returns paths relative to `root`: tests that import the file, then those that reach it and need nothing real; where there are none, all that
 * reach it
 */
export function nearestTests(root: string, file: string): string[] {
  const importers = graphOf(root);
  const seen = new Set([file]);
  let ring = [file];
  while (ring.length > 0) {
    ring = ring.flatMap((name) => importers.get(name) ?? []).filter((name) => !seen.has(name));
    for (const name of ring) seen.add(name);
  }
  const tests = [...seen].filter((name) => name.endsWith('.test.ts'));
  const slow = new Set(slowTestsOf(root));
  const direct = new Set(importers.get(file));
  const near = tests.filter((name) => direct.has(name) || !slow.has(name));
  return near.length > 0 ? near : tests;
}
