import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/test-io.ts';
import { isStream } from './is-stream.ts';

test('standard input, open files of this process and pipes are streams; files, and what is not there, are none', async () => {
  const folder = await testFolder();
  const at = (name: string) => join(folder, name);
  execFileSync('sh', ['-c', 'mkfifo "$0"', at('pipe')]);
  symlinkSync(at('pipe'), at('link'));
  writeFileSync(at('-'), '');
  for (const file of [
    ...['-', '/dev/stdin', '/dev/stdout', '/dev/stderr', '/dev/fd/63', '/proc/self/fd/0'],
    ...[at('pipe'), at('link')],
  ]) {
    expect([file, isStream(file)]).toEqual([file, true]);
  }
  for (const file of ['', './-', at('-'), folder, at('none'), 'dev/stdin', '/dev/fd']) {
    expect([file, isStream(file)]).toEqual([file, false]);
  }
});
