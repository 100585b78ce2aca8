import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { World } from '../src/world.ts';

test('10,000 links of 2,000 characters are more than a request may hold: sent in two', async () => {
  await using world = await World.create();
  const { key } = await world.caller('custom');
  const path = 'a'.repeat(1_960);
  const urls = Array.from({ length: 10_000 }, (_, row) => `https://example.com/${row}/${path}`);
  await writeFile(world.path('urls.txt'), urls.join('\n'));
  const run = await world.cli(key, ['import', 'urls.txt', '--json']);
  expect(run.exitCode, run.stderr).toBe(0);
  expect(run.stderr).toContain('A batch of 10,000 links was refused, the next ones are smaller');
  expect(JSON.parse(run.stdout)).toMatchObject({ created: 10_000, unknown: 0, batches: 2 });
  const usage = await world.request(key, 'GET', '/api/v1/usage');
  expect(usage.json.links.used).toBe(10_000);
});
