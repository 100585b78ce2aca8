import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Contender, interleave } from '../frame/rounds.ts';
import { medianOf, type Section, type SectionContext } from '../frame/section.ts';
import { CLI_PROGRAM } from './import-programs.ts';

/** Rounds for each requested round: starting a process is short, and its time varies. */
const ROUNDS_FACTOR = 6;

/** `shortlink --version` may take at most this many times as long as Node alone, as a package and as a single-file program. */
const MOST_RATIO = 1.6;
const MOST_RATIO_OF_BINARY = 2.5;

/** Built by `pnpm build:binary`. It is measured where it exists. */
const BINARY_FILE = fileURLToPath(new URL('../../../cli/dist-binary/shortlink', import.meta.url));

const NODE = 'node -e 0';
const VERSION = 'shortlink --version';
const BINARY = 'shortlink --version, single file';

/** Whole processes, from their start to their end. */
export async function measureStartUp({ rounds }: SectionContext): Promise<Section> {
  const contender = (
    name: string,
    args: readonly string[],
    file: string = process.execPath,
  ): Contender => ({
    name,
    measure: async () => ({ ms: run(file, args) }),
  });
  const hasBinary = existsSync(BINARY_FILE);
  const rows = await interleave(
    [
      contender(NODE, ['-e', '0']),
      contender(VERSION, [CLI_PROGRAM, '--version']),
      ...(hasBinary ? [contender(BINARY, ['--version'], BINARY_FILE)] : []),
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
      ...(hasBinary
        ? [
            {
              name: `${BINARY}/${NODE}`,
              measured: medianOf(rows, BINARY, `to ${NODE}`),
              wanted: { atMost: MOST_RATIO_OF_BINARY },
            },
          ]
        : []),
    ],
  };
}

function run(file: string, args: readonly string[]): number {
  const startedAt = performance.now();
  const { error } = spawnSync(file, args, { timeout: 30_000 });
  if (error !== undefined) throw error;
  return performance.now() - startedAt;
}
