import { execFileSync, spawnSync } from 'node:child_process';
import { openSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
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

test('open files of this process are streams also where the shell has opened files', async () => {
  const file = openSync(join(await testFolder(), 'out.csv'), 'w+');
  const names = ['/dev/stdin', '/dev/stdout', '/dev/stderr'];
  const script = `import { isStream } from '${new URL('is-stream.ts', import.meta.url)}';
    process.exit(${JSON.stringify(names)}.filter(isStream).length);`;
  const child = spawnSync(execPath, ['--input-type=module', '--eval', script], {
    stdio: [file, file, file],
  });
  expect(child.status).toBe(names.length);
});
