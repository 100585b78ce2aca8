import { join } from 'node:path';
import { peakMemoryMb } from '../frame/processes.ts';
import { type Contender, interleave } from '../frame/rounds.ts';
import { type Section, type SectionContext, scaled } from '../frame/section.ts';
import { writeLinksFile } from './links-file.ts';

const OURS = 'ours (lines known, quotes checked)';
const OTHERS = ['csv-parse', 'papaparse'];

const MOST_ROUNDS = 5;

/** Reading alone: nothing is checked, mapped or sent. */
export async function measureParsers(context: SectionContext): Promise<Section> {
  const { children, directory, rounds } = context;
  const rows = scaled(1_000_000, context);
  const file = join(directory, 'links.csv');
  await writeLinksFile(file, rows);
  const contender = (name: string, program = name): Contender => ({
    name,
    measure: async () => {
      const parser = await children.start(new URL('./parse-process.ts', import.meta.url), [
        program,
      ]);
      const found = await parser.ask<{ ms: number; rows: number; cells: number }>(file);
      const peakMb = peakMemoryMb(parser.pid);
      await parser.stop();
      if (found.rows !== rows + 1 || found.cells !== found.rows * 3) {
        throw new Error(`${name} found ${found.rows} rows and ${found.cells} cells`);
      }
      return { 'rows/s': (rows / found.ms) * 1000, 'peak RSS, MB': peakMb };
    },
  });
  return {
    title: `Reading ${rows.toLocaleString('en-US')} rows of CSV`,
    about: 'Each parser alone on the same file, every cell cut out.',
    rows: await interleave(
      [...OTHERS.map((name) => contender(name)), contender(OURS, 'CsvReader')],
      {
        rounds: Math.min(rounds, MOST_ROUNDS),
        warmups: 0,
        ratio: { of: 'rows/s', to: OTHERS },
      },
    ),
  };
}
