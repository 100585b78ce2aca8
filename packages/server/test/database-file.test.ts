import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useProcesses } from './server-process.ts';

const { run, start, folder } = useProcesses();

test('every command takes a path that looks like a URL for the same file', async () => {
  const env = { SHORTLINK_DATABASE_URL: 'sqlite:file:x.db' };
  const stderr = `database: ${join(folder(), 'file:x.db')}\n`;
  expect(await run(['migrate'], env).ended).toEqual({ code: 0, stderr });
  expect(await readdir(folder())).toEqual(['file:x.db']);
  const server = await start([], env);
  expect(await run(['backup', 'copy.db'], env).ended).toEqual({ code: 0, stderr });
  server.child.kill('SIGTERM');
  await server.ended;
  expect((await readdir(folder())).toSorted()).toEqual(['copy.db', 'file:x.db']);
});
