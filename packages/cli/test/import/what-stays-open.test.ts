import { getEventListeners } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { workbook } from '../../../tables/test/workbook-fixture.ts';
import { ImportHarness } from './import-harness.ts';

/** A program that imports thousands of files in one process has neither descriptors nor listeners for what each of them leaves open. */
let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
  mkdirSync(world.path('temporary'));
  vi.stubEnv('TMPDIR', world.path('temporary'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  world.dispose();
});

const DESCRIPTORS = '/proc/self/fd';

/** Files below the folder that this process has open; none where the system does not tell. */
function openFiles(): string[] {
  if (!existsSync(DESCRIPTORS)) return [];
  return readdirSync(DESCRIPTORS).flatMap((descriptor) => {
    try {
      const path = readlinkSync(`${DESCRIPTORS}/${descriptor}`);
      return path.startsWith(world.directory) ? [path.slice(world.directory.length)] : [];
    } catch {
      return [];
    }
  });
}

const TABLE = 'url,title\nhttps://example.com/1,A\nhttps://example.com/2,B\nnot a URL,C\n';
const refused = /./;
const book = (...rows: string[][]) => workbook({ Front: [['Read me']], Links: [['URL'], ...rows] });
const inBook = () => ({
  file: world.path('input.xlsx'),
  output: world.path('input.xlsx.results.xlsx'),
  outputFormat: 'xlsx' as const,
});

type Scene = () => Promise<unknown>;
const SCENES: Record<string, Scene> = {
  'a table with rejects, the second time and with --restart': async () => {
    world.write('input.csv', TABLE);
    for (const restart of [false, false, true]) await world.import({ maxRejects: 'all', restart });
    await world.import({ maxRejects: 'all', dryRun: true });
  },
  'a table that is filled in': async () => {
    world.write('input.csv', TABLE);
    const inPlace = { inPlace: true, output: world.path('input.csv'), maxRejects: 'all' as const };
    for (let run = 0; run < 2; run += 1) await world.import(inPlace);
  },
  'results that somebody has changed, and rejects that are gone': async () => {
    world.write('input.csv', TABLE);
    await world.import({ maxRejects: 'all' });
    appendFileSync(world.path('input.csv.results.csv'), 'https://example.com/3,D,,,,,\n');
    world.write('input.csv', TABLE.replace(/not a URL.*\n/, ''));
    await world.import();
  },
  'results whose journal is gone': async () => {
    world.writeRows(1);
    await world.import();
    rmSync(world.path('input.csv.shortlink-journal'));
    world.writeRows(2);
    expect(await world.import()).toMatchObject({ created: 1 });
  },
  'standard input': () => world.import({ file: '-' }, [Buffer.from(TABLE.slice(0, 34))]),
  'a packed table': async () => {
    world.write('input.csv.gz', gzipSync(TABLE));
    await world.import({ file: world.path('input.csv.gz'), maxRejects: 'all' });
  },
  'a workbook': async () => {
    world.write('input.xlsx', book(['https://example.com/1']));
    for (let run = 0; run < 2; run += 1) await world.import(inBook());
  },
  'the results of a workbook as known links': async () => {
    world.write('input.xlsx', book(['https://example.com/1']));
    await world.import(inBook());
    world.write('input.csv', TABLE);
    await world.import({ known: [world.path('input.xlsx.results.xlsx')], maxRejects: 'all' });
  },
  'an undo file beside a journal': async () => {
    world.write('input.csv', TABLE);
    await world.import({ maxRejects: 'all' });
    world.write('input.csv.shortlink-journal-journal', 'of another one');
    await world.import({ maxRejects: 'all' });
  },
  'a workbook without such a sheet': async () => {
    world.write('input.xlsx', book(['https://example.com/1']));
    await expect(world.import({ ...inBook(), sheet: 'None' })).rejects.toThrow(refused);
  },
  'a workbook that is cut off': async () => {
    world.write('input.xlsx', book(['https://example.com/1']).subarray(0, 900));
    await expect(world.import(inBook())).rejects.toThrow(refused);
  },
  'a workbook whose list of sheets is damaged': async () => {
    const bytes = book(['https://example.com/1'])
      .toString('latin1')
      .replace('<sheets>', '<sheets<');
    world.write('input.xlsx', Buffer.from(bytes, 'latin1'));
    await expect(world.import(inBook())).rejects.toThrow(refused);
  },
  'bytes that are no text': async () => {
    world.write('input.csv', Buffer.concat([Buffer.from(TABLE), Buffer.from([0xff, 10])]));
    await expect(world.import()).rejects.toThrow(refused);
  },
  'journals and tables beside it, of which one can not be read': async () => {
    world.write('input.csv', TABLE);
    await world.import({ maxRejects: 'all' });
    world.write('notes', 'no table');
    world.write('other.csv', TABLE);
    const other = { file: world.path('other.csv'), maxRejects: 'all' as const };
    await world.import({ ...other, onSimilar: 'reuse' });
    world.write('third.csv', TABLE);
    world.write('old.csv', '"code,short_url,status,error\n');
    await expect(world.import({ ...other, file: world.path('third.csv') })).rejects.toThrow(
      refused,
    );
  },
  'a journal of somebody else': async () => {
    world.write('input.csv', TABLE);
    world.write('input.csv.shortlink-journal', 'no journal');
    await expect(world.import()).rejects.toThrow(refused);
    await expect(world.import({ dryRun: true })).rejects.toThrow(refused);
  },
  'known links whose file is cut off': async () => {
    world.write('input.csv', TABLE);
    world.write(
      'known.csv',
      'url,code,short_url,status,error,made_for\nhttps://e.example,a,https:',
    );
    await expect(world.import({ known: [world.path('known.csv')] })).rejects.toThrow(refused);
  },
  'a run that is stopped': async () => {
    world.writeRows(300);
    world.onEvent = ({ type }) => type === 'batch-sent' && world.hardStop.abort();
    await world.import({ batchSize: 100 });
  },
  'a request under way that is waited for until somebody stops the run': async () => {
    world.service.features = ['lookup'];
    world.service.fault = () => ({ type: 'lost', created: true });
    world.writeRows(2);
    world.onEvent = ({ type }) => type === 'warning' && world.stop.abort();
    await world.import();
    world.onEvent = ({ type }) => type === 'warning' && setImmediate(() => world.stop.abort());
    await world.import();
  },
  'a request that is sent again under its key': async () => {
    const keys = { idempotency: true };
    world.service.fault = (n) => (n === 0 ? { type: 'lost', created: true } : undefined);
    world.writeRows(2);
    await world.import({ ...keys, onUnknown: 'stop' });
    await world.import(keys);
  },
};

test.each(Object.entries(SCENES))('nothing is left open or behind by %s', async (_, play) => {
  const timers = new Set<unknown>();
  const start = globalThis.setTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation((...given: Parameters<typeof start>) => {
    const timer = start(...given);
    timers.add(timer);
    return timer;
  });
  const { emitWarning } = process;
  const warnings: string[] = [];
  const onWarning = ({ message }: Error) => void warnings.push(message);
  process.on('warning', onWarning);
  await play();
  vi.restoreAllMocks();
  // A stream is closed a moment after it ends.
  await expect.poll(openFiles, { timeout: 10_000 }).toEqual([]);
  process.off('warning', onWarning);
  // Such as that a descriptor was closed on garbage collection.
  expect(warnings).toEqual([]);
  expect(readdirSync(world.path('temporary'))).toEqual([]);
  expect(process.emitWarning).toBe(emitWarning);
  const pending = [...timers].filter((timer) => Reflect.get(Object(timer), '_destroyed') === false);
  expect(pending).toEqual([]);
  for (const { signal } of [world.stop, world.hardStop]) {
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  }
});
