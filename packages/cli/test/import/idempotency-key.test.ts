import { expect, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

test('a row that takes the place of another one gets a link of its own, and not the response to an earlier request', async () => {
  const world = new ImportHarness();
  const importUrls = async (...names: string[]) => {
    const rows = names.map((name) => `https://example.com/${name}\n`);
    world.write('input.csv', `url\n${rows.join('')}`);
    return await world.import({ idempotency: true });
  };
  try {
    await importUrls('b', 'a');
    await importUrls('b', 'a', 'b');
    const summary = await importUrls('b', 'b', 'b');
    expect(summary).toMatchObject({ created: 1, existing: 2, gone: 1 });
    const codes = world
      .table()
      .slice(1)
      .map(([, code]) => code);
    expect(new Set(codes).size).toBe(3);
  } finally {
    world.dispose();
  }
});
