import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Contender, interleave } from '../frame/rounds.ts';
import { medianOf, type Row, type Section, type SectionContext, scaled } from '../frame/section.ts';
import { LARGE_BATCH, startStub } from '../sdk/stub.ts';
import { startOurs } from '../server/targets.ts';
import {
  AGAIN,
  BARE_NAME,
  bareScript,
  CPU,
  CSV,
  IMPORT_NAME,
  JSON_LINES,
  ourImport,
  SECONDS,
} from './import-programs.ts';
import { csvLine, jsonLine, writeLinksFile } from './links-file.ts';

/** At least this part of the bare script's rows per second, and at most this much memory. */
const LEAST_RATIO = 0.3;
const MOST_MB = 250;

/** The same command again creates nothing, and takes at most this part of the first run's time. */
const MOST_AGAIN = 0.62;

/** JSON Lines take at most this part of the processor time of CSV. */
const MOST_OF_CSV = 1.5;

/** An import into our own server takes at most this part of the bare script's time. */
const MOST_OF_BARE = 1.15;

const STUB_KEY = 'bench-key-0123456789';

/** A run takes many seconds, so there are fewer rounds. */
const MOST_ROUNDS = 5;

/** A million rows, through the real command and through the bare script. */
export function measureImport(context: SectionContext): Promise<Section> {
  return measureRows(
    context,
    wholeBatches(1_000_000, context),
    Math.min(context.rounds, MOST_ROUNDS),
  );
}

/** Three million rows: the memory must be that of one million. */
export function measureLargeImport(context: SectionContext): Promise<Section> {
  return measureRows(context, wholeBatches(3_000_000, context), 1);
}

/** The stub's responses fit whole batches only. */
function wholeBatches(rows: number, context: SectionContext): number {
  return Math.ceil(scaled(rows, context) / LARGE_BATCH) * LARGE_BATCH;
}

async function measureRows(
  context: SectionContext,
  rows: number,
  rounds: number,
): Promise<Section> {
  const service = { url: await startStub(context.children), apiKey: STUB_KEY };
  const run = { directory: context.directory, rows, service };
  await writeLinksFile(join(context.directory, CSV), rows);
  const measured = await interleave([bareScript(run), ourImport(run)], {
    rounds,
    warmups: 0,
    ratio: { of: 'rows/s', to: [BARE_NAME] },
  });
  return {
    title: `An import of ${rows.toLocaleString('en-US')} rows`,
    about: 'Whole programs against a stub that answers every batch alike, four batches in flight.',
    rows: measured,
    checks: checksOf(measured),
  };
}

/** The same rows as JSON Lines, by processor time, since the formats differ in nothing else. */
export async function measureJsonLines(context: SectionContext): Promise<Section> {
  const rows = wholeBatches(300_000, context);
  const service = { url: await startStub(context.children), apiKey: STUB_KEY };
  const run = { directory: context.directory, rows, service };
  await writeLinksFile(join(context.directory, CSV), rows);
  await writeLinksFile(join(context.directory, JSON_LINES), rows, jsonLine);
  const [csv, lines] = [ourImport(run, CSV), ourImport(run, JSON_LINES)];
  const measured = await interleave([csv, lines], {
    rounds: Math.min(context.rounds, MOST_ROUNDS),
    warmups: 0,
    ratio: { of: CPU, to: [csv.name] },
  });
  return {
    title: `CSV and JSON Lines, ${rows.toLocaleString('en-US')} rows`,
    about: 'The command against a stub, a first run and a second one without new rows.',
    rows: measured,
    checks: [
      {
        name: 'processor time, JSON Lines/CSV',
        measured: medianOf(measured, lines.name, `to ${csv.name}`),
        wanted: { atMost: MOST_OF_CSV },
      },
    ],
  };
}

/** The same batches into our own server, whose work hides most of the command's. Every run meets an empty database. */
export async function measureOwnServer(context: SectionContext): Promise<Section> {
  const { directory } = context;
  const rows = wholeBatches(300_000, context);
  await writeLinksFile(join(directory, CSV), rows, (row) => csvLine(row, row));
  const contender = (name: string, program: typeof bareScript): Contender => ({
    name,
    measure: async () => {
      const database = join(directory, 'links.db');
      const service = await startOurs(context, `sqlite:${database}`);
      const { measure } = program({ directory, rows, service });
      const sample = await measure();
      await service.stop();
      await rm(database);
      return sample;
    },
  });
  const measured = await interleave(
    [contender(BARE_NAME, bareScript), contender(IMPORT_NAME, ourImport)],
    { rounds: Math.min(context.rounds, MOST_ROUNDS), ratio: { of: SECONDS, to: [BARE_NAME] } },
  );
  return {
    title: `An import of ${rows.toLocaleString('en-US')} rows into our own server`,
    about: 'Whole programs, four batches in flight, each job polled until it is done.',
    rows: measured,
    checks: [
      {
        name: 'time, import/bare script',
        measured: medianOf(measured, IMPORT_NAME, `to ${BARE_NAME}`),
        wanted: { atMost: MOST_OF_BARE },
      },
    ],
  };
}

function checksOf(measured: readonly Row[]): Section['checks'] {
  const ours = measured.find(({ name }) => name === 'shortlink import');
  return [
    {
      name: 'rows/s, import/bare script',
      measured: medianOf(measured, 'shortlink import', 'to bare script'),
      wanted: { atLeast: LEAST_RATIO },
    },
    {
      name: `time of the import, ${AGAIN}`,
      measured: ours?.figures[AGAIN]?.median ?? Number.NaN,
      wanted: { atMost: MOST_AGAIN },
    },
    {
      name: 'peak RSS of the import, MB',
      measured: ours?.figures['peak RSS, MB']?.max ?? Number.NaN,
      wanted: { atMost: MOST_MB },
    },
  ];
}
