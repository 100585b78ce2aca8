import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Contender, Sample } from '../frame/rounds.ts';
import { type ProgramUsage, runMeasured } from './run-measured.ts';

/** The built command. */
export const CLI_PROGRAM = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));

const BARE = new URL('./bare-import.ts', import.meta.url);

export const SECONDS = 'seconds';
export const CPU = 'CPU µs/row';
export const BARE_NAME = 'bare script';
export const IMPORT_NAME = 'shortlink import';

/** What stands in the directory of a section. */
export const CSV = 'links.csv';
export const JSON_LINES = 'links.jsonl';
const RESULTS = 'results.csv';

/** The same command again creates nothing. */
export const AGAIN = 'second run/first';

/** An import into one service. */
export interface ImportRun {
  directory: string;
  rows: number;
  service: { url: string; apiKey: string };
}

export function bareScript({ directory, rows, service }: ImportRun): Contender {
  const args = [service.url, join(directory, CSV), join(directory, RESULTS), service.apiKey];
  return {
    name: BARE_NAME,
    measure: async () => {
      const usage = await runMeasured(BARE, args, { directory });
      await rm(join(directory, RESULTS));
      return figuresOf(rows, usage);
    },
  };
}

/** The command, and the same command again, which finds nothing to create. */
export function ourImport({ directory, rows, service }: ImportRun, input = CSV): Contender {
  const [file, output] = [join(directory, input), join(directory, RESULTS)];
  const args = ['import', file, '-o', output, '--quiet'];
  const env = { SHORTLINK_API_KEY: service.apiKey, SHORTLINK_BASE_URL: service.url, CI: '1' };
  return {
    name: input === CSV ? IMPORT_NAME : `${IMPORT_NAME}, ${input}`,
    measure: async () => {
      const first = await runMeasured(CLI_PROGRAM, args, { directory, env });
      const again = await runMeasured(CLI_PROGRAM, args, { directory, env });
      // What a run has written would be evidence of links for the next one.
      for (const written of [`${file}.shortlink-journal`, output])
        await rm(written, { force: true });
      return { ...figuresOf(rows, first), [AGAIN]: again.ms / first.ms };
    },
  };
}

function figuresOf(rows: number, { ms, cpuMs, peakMb }: ProgramUsage): Sample {
  return {
    'rows/s': (rows / ms) * 1000,
    [SECONDS]: ms / 1000,
    [CPU]: (cpuMs / rows) * 1000,
    'peak RSS, MB': peakMb,
  };
}
