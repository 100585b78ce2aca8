import { afterEach, expect, test, vi } from 'vitest';
import { writeError } from '../../src/import/folder.ts';
import { Journal } from '../../src/import/journal/journal.ts';
import { ImportHarness } from './import-harness.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test('rows whose response could not be recorded are unknown in the summary as well as in the results', async () => {
  const world = new ImportHarness();
  try {
    world.writeRows(3);
    vi.spyOn(Journal.prototype, 'decide').mockImplementation(function (this: Journal) {
      throw writeError(this.path, Object.assign(new Error('full'), { code: 'ENOSPC' }));
    });
    const summary = await world.import({ batchSize: 1, concurrency: 1 });
    expect(world.statuses()).toEqual(['unknown', 'unsent', 'unsent']);
    expect(summary).toMatchObject({ unknown: 1, unsent: 2, stopped: { reason: 'error' } });
  } finally {
    world.dispose();
  }
});

test('a run that cannot record what a job of the run before has created says so', async () => {
  const world = new ImportHarness();
  try {
    world.writeRows(3);
    world.service.traits.syncLinks = 1;
    world.service.onPoll = () => ({ type: 'answer', status: 501, body: { error: 'no' } });
    await world.import({ batchSize: 3 });
    world.service.onPoll = () => undefined;
    const settle = vi.spyOn(Journal.prototype, 'decide').mockImplementation(function (
      this: Journal,
    ) {
      throw writeError(this.path, Object.assign(new Error('full'), { code: 'ENOSPC' }));
    });
    expect(await world.import({ batchSize: 3 })).toMatchObject({
      unknown: 3,
      stopped: { reason: 'error', message: expect.stringContaining('the disk is full') },
    });
    settle.mockRestore();
    expect(await world.import({ batchSize: 3 })).toMatchObject({ created: 3, unknown: 0 });
    expect(world.created()).toEqual({ links: 3, duplicates: 0 });
  } finally {
    world.dispose();
  }
});

test('responses that arrive while the disk is full are recorded, and the same command continues', async () => {
  const world = new ImportHarness();
  try {
    world.writeRows(800);
    const begin = vi.spyOn(Journal.prototype, 'begin');
    const allFly = Promise.withResolvers<void>();
    world.service.hold = async () => {
      const { calls, contexts } = begin.mock;
      // The first batch goes alone.
      if (calls.length === 1) return;
      if (calls.length === 5) allFly.resolve();
      await allFly.promise;
      (contexts[0] as Journal).db.exec('PRAGMA max_page_count = 1');
    };
    const summary = await world.import({ batchSize: 100 });
    expect(summary).toMatchObject({
      ...{ created: 500, unknown: 0, unsent: 300 },
      stopped: { reason: 'error', message: expect.stringContaining('the disk is full') },
    });
    begin.mockRestore();
    world.service.hold = async () => undefined;
    expect(await world.import({ batchSize: 100 })).toMatchObject({ created: 300, unknown: 0 });
    expect(world.created()).toEqual({ links: 800, duplicates: 0 });
  } finally {
    world.dispose();
  }
});
