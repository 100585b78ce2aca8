import { spawnSync } from 'node:child_process';
import { type Contender, interleave } from '../frame/rounds.ts';
import { medianOf, type Section, type SectionContext } from '../frame/section.ts';
import { CLI_PROGRAM } from './import.ts';

/** Rounds for each requested round: starting a process is short, and its time varies. */
const ROUNDS_FACTOR = 6;

/** `shortlink --version` may take at most this many times as long as Node alone. */
const MOST_RATIO = 1.6;

const NODE = 'node -e 0';
const VERSION = 'shortlink --version';

/** Whole processes, from their start to their end. */
export async function measureStartUp({ rounds }: SectionContext): Promise<Section> {
  const contender = (name: string, args: readonly string[]): Contender => ({
    name,
    measure: async () => ({ ms: run(args) }),
  });
  const rows = await interleave(
    [
      contender(NODE, ['-e', '0']),
      contender(VERSION, [CLI_PROGRAM, '--version']),
      contender('shortlink --help', [CLI_PROGRAM, '--help']),
      contender('shortlink import, no such file', [CLI_PROGRAM, 'import', 'none', '--dry-run']),
    ],
    { rounds: rounds * ROUNDS_FACTOR, warmups: 2, ratio: { of: 'ms', to: [NODE] } },
  );
  return {
    title: 'Start-up',
    about: 'Whole processes, from start to end.',
    rows,
    checks: [
      {
        name: `${VERSION}/${NODE}`,
        measured: medianOf(rows, VERSION, `to ${NODE}`),
        wanted: { atMost: MOST_RATIO },
      },
    ],
  };
}

function run(args: readonly string[]): number {
  const startedAt = performance.now();
  const { error } = spawnSync(process.execPath, args, { timeout: 30_000 });
  if (error !== undefined) throw error;
  return performance.now() - startedAt;
}
