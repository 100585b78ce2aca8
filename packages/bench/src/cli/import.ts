import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { type Contender, interleave } from '../frame/rounds.ts';
import { medianOf, type Row, type Section, type SectionContext, scaled } from '../frame/section.ts';
import { LARGE_BATCH, startStub, targetUrl } from '../sdk/stub.ts';

/** The built command. */
export const CLI_PROGRAM = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));

const BARE = new URL('./bare-import.ts', import.meta.url);

/** At least this part of the bare script's rows per second, and at most this much memory. */
const LEAST_RATIO = 0.3;
const MOST_MB = 250;

/** The same command again creates nothing, and takes at most this part of the first run's time. */
const MOST_AGAIN = 0.62;
const AGAIN = 'second run/first';

/** A run takes many seconds, so there are fewer rounds. */
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
      const isOurs = program === CLI_PROGRAM;
      const again = isOurs ? await runMeasured(program, args, { directory, env }) : undefined;
      // What a run has written would be evidence of links for the next one.
      for (const written of [`${file}.shortlink-journal`, output])
        await rm(written, { force: true });
      return {
        'rows/s': (rows / ms) * 1000,
        'CPU µs/row': (cpuMs / rows) * 1000,
        'peak RSS, MB': peakMb,
        ...(again && { [AGAIN]: again.ms / ms }),
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
  return {
    title: `An import of ${rows.toLocaleString('en-US')} rows`,
    about: 'Whole programs against a stub that answers every batch alike, four batches in flight.',
    rows: measured,
    checks: checksOf(measured),
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

/** Columns of {@link writeLinksFile}. */
const COLUMNS = 'target_url,title,tags';

/** Rows written at once. */
const PIECE_ROWS = 1_000;

/**
 * Writes a CSV file of `rows` links, about 126 bytes each. Every batch of {@link LARGE_BATCH} has the same target URLs, since
 * the stub answers every batch alike. No cell is quoted, so that the bare script may split at commas.
 */
export async function writeLinksFile(path: string, rows: number): Promise<void> {
  await pipeline(Readable.from(pieces(rows)), createWriteStream(path));
}

function* pieces(rows: number): Generator<string> {
  yield `${COLUMNS}\n`;
  for (let first = 0; first < rows; first += PIECE_ROWS) {
    let text = '';
    for (let row = first; row < Math.min(rows, first + PIECE_ROWS); row += 1) {
      text += `${targetUrl(row % LARGE_BATCH)},Catalogue item ${row} of the autumn collection,shop|autumn|item ${row}\n`;
    }
    yield text;
  }
}

/** What a whole program took, from its start to its end. */
interface ProgramUsage {
  ms: number;
  /** Processor time of all threads. */
  cpuMs: number;
  /** Largest resident memory. */
  peakMb: number;
}

/**
 * Loaded before the program: writes what it used when it ends. Plain JavaScript in a URL, since loading TypeScript would cost
 * the measured program 50 MB. The memory is not `maxRSS`, which begins with that of the benchmark that starts the program.
 */
const REPORT = `data:text/javascript,${encodeURIComponent(`
  import { readFileSync, writeFileSync } from 'node:fs';
  process.once('exit', () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    const [, peak] = /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
    const usage = { peakMb: peak / 1024, cpuMs: (userCPUTime + systemCPUTime) / 1000 };
    writeFileSync(process.env.BENCH_USAGE_FILE, JSON.stringify(usage));
  });
`)}`;

/** Longest run of one program. */
const LIMIT_MS = 900_000;

/** Runs a Node program to its end. @throws Error when it fails, with what it printed */
async function runMeasured(
  program: URL | string,
  args: readonly string[],
  { directory, env }: { directory: string; env?: Record<string, string> | undefined },
): Promise<ProgramUsage> {
  const usageFile = join(directory, 'usage.json');
  const path = program instanceof URL ? program.pathname : program;
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--import', REPORT, path, ...args], {
    cwd: directory,
    env: { ...process.env, ...env, BENCH_USAGE_FILE: usageFile },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LIMIT_MS,
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-4_000);
  });
  const [status] = await once(child, 'close');
  const ms = performance.now() - startedAt;
  if (status !== 0) throw new Error(`${path} ended with ${status}: ${words}`);
  const usage = JSON.parse(await readFile(usageFile, 'utf8'));
  return { ms, cpuMs: usage.cpuMs, peakMb: usage.peakMb };
}
