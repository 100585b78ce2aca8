import { appendFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

test('results that could not be written are not said to mark the unknown rows', async () => {
  const path = world.path('input.csv');
  const settings = { inPlace: true, output: path };
  world.write('input.csv', 'url\nhttps://example.com/1\n');
  world.service.fault = () => ({ type: 'lost', created: true });
  world.onEvent = ({ type }) => {
    if (type === 'rows-done') appendFileSync(path, 'https://example.com/2\n');
  };
  const summary = await world.import(settings);
  expect(summary).toMatchObject({
    output: undefined,
    stopped: { reason: 'unknown', message: expect.not.stringContaining('results file') },
  });
  expect(world.events).toContainEqual({
    type: 'warning',
    message: expect.stringMatching(/^The results were not written: input.csv was changed while/),
  });
});
