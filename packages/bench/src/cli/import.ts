import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Contender, interleave } from '../frame/rounds.ts';
import { medianOf, type Section, type SectionContext, scaled } from '../frame/section.ts';
import { LARGE_BATCH } from '../sdk/batch-sizes.ts';
import { startStub } from '../sdk/start-stub.ts';
import { CLI_PROGRAM } from './cli-program.ts';
import { writeLinksFile } from './links-file.ts';
import { runMeasured } from './run-measured.ts';

const BARE = new URL('./bare-import.ts', import.meta.url);

/** At least this part of the bare script's rows per second, and at most this much memory. */
const LEAST_RATIO = 0.3;
const MOST_MB = 250;

/** A run takes many seconds, so there are fewer of them. */
const MOST_ROUNDS = 5;

/** A million rows, through the real command and through the bare script. */
export function measureImport(context: SectionContext): Promise<Section> {
  const rows = Math.ceil(scaled(1_000_000, context) / LARGE_BATCH) * LARGE_BATCH;
  return measureRows(context, rows, Math.min(context.rounds, MOST_ROUNDS));
}

/** Three million rows: the memory must be that of one million. */
export function measureLargeImport(context: SectionContext): Promise<Section> {
  const rows = Math.ceil(scaled(3_000_000, context) / LARGE_BATCH) * LARGE_BATCH;
  return measureRows(context, rows, 1);
}

async function measureRows(
  { children, directory }: SectionContext,
  rows: number,
  rounds: number,
): Promise<Section> {
  const url = await startStub(children);
  const file = join(directory, 'links.csv');
  const output = join(directory, 'results.csv');
  await writeLinksFile(file, rows);
  const contender = (name: string, program: URL | string, args: string[]): Contender => ({
    name,
    measure: async () => {
      const env = { SHORTLINK_API_KEY: 'bench-key-0123456789', SHORTLINK_BASE_URL: url, CI: '1' };
      const { ms, cpuMs, peakMb } = await runMeasured(program, args, { directory, env });
      await rm(`${file}.shortlink-journal`, { force: true });
      return {
        'rows/s': (rows / ms) * 1000,
        'CPU µs/row': (cpuMs / rows) * 1000,
        'peak RSS, MB': peakMb,
      };
    },
  });
  const measured = await interleave(
    [
      contender('bare script', BARE, [url, file, output]),
      contender('shortlink import', CLI_PROGRAM, ['import', file, '-o', output, '--quiet']),
    ],
    { rounds, warmups: 0, ratio: { of: 'rows/s', to: ['bare script'] } },
  );
  const ours = measured.find(({ name }) => name === 'shortlink import');
  return {
    title: `An import of ${rows.toLocaleString('en-US')} rows`,
    about: 'Whole programs against a stub that answers every batch alike, four batches in flight.',
    rows: measured,
    checks: [
      {
        name: 'rows/s, import/bare script',
        measured: medianOf(measured, 'shortlink import', 'to bare script'),
        wanted: { atLeast: LEAST_RATIO },
      },
      {
        name: 'peak RSS of the import, MB',
        measured: ours?.figures['peak RSS, MB']?.max ?? Number.NaN,
        wanted: { atMost: MOST_MB },
      },
    ],
  };
}
