import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validate } from 'dockerfile-utils';
import { expect, test } from 'vitest';
import { ROOT } from '../src/manifests.ts';

const text = readFileSync(join(ROOT, 'packages/server/Dockerfile'), 'utf8');
const lint = (dockerfile: string) => validate(dockerfile).map(({ message }) => message);

test('the Dockerfile has nothing that the linter objects to', () => {
  expect(lint(text)).toEqual([]);
});

test.each([
  ['an instruction that does not exist', 'EXPOSE', 'EXPOS'],
  ['a flag that does not exist', '--timeout=', '--timeouts='],
  ['a command that is no list', '["start"]', "['start']"],
])('%s is found', (_, good, bad) => {
  expect(lint(text.replace(good, bad))).toHaveLength(1);
});
