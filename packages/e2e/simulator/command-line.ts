import { parseArgs } from 'node:util';
import { wholeNumber } from '../src/whole-number.ts';
import { MUTANTS } from './mutants/mutants.ts';

const HELP = `Plays imports on virtual time against failing services, networks and disks, and checks each row.

Usage:
  pnpm simulate [--seeds N] [--from S] [--workers N]          seeds S to S + N - 1
  pnpm simulate --seed S                                      one seed with its trace; one that fails is shortened first
  pnpm simulate --mutants [--write] [--workers N] [NAME]...   plants bugs, all or those named, and plays seeds until one fails

Options:
  --seeds N      how many seeds to play (10000)
  --from S       the first of them (1)
  --workers N    threads (2)
  --seed S       play this seed only
  --no-losses    files are neither lost nor damaged between two runs (not with --mutants)
  --plain        without losses, and without the other extras that only some scenarios have (not with --mutants)
  --mutants      plant each bug alone; it must be found within 20,000 seeds
  --write        with --mutants: write the table of planted bugs in README.md anew
  --help         show this text

The exit code is 1 if anything failed, and 2 if the command line can't be read.
`;

/** Leaves out what only some scenarios have. */
export interface Variant {
  isPlain: boolean;
  hasLosses: boolean;
}

export type Command =
  | { kind: 'help'; text: string }
  | { kind: 'seeds'; from: number; seeds: number; workers: number; variant: Variant }
  | { kind: 'seed'; seed: number; variant: Variant }
  | { kind: 'mutants'; names: ReadonlySet<string>; writes: boolean; workers: number };

/**
 * What a command line asks for.
 *
 * @throws Error with a sentence for the user where it can't be read
 */
export function readCommand(args: string[]): Command {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    allowNegative: true,
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      workers: { type: 'string' },
      seed: { type: 'string' },
      plain: { type: 'boolean' },
      losses: { type: 'boolean' },
      mutants: { type: 'boolean' },
      write: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return { kind: 'help', text: HELP };
  const { mutants = false, seed } = values;
  const kind = mutants ? 'mutants' : seed === undefined ? 'seeds' : 'seed';
  refuseUnused(values, kind);
  const workers = wholeNumber('--workers', values.workers ?? '2');
  if (mutants) {
    return { kind: 'mutants', names: mutantsNamed(positionals), writes: !!values.write, workers };
  }
  const [stray] = positionals;
  if (stray !== undefined) throw new Error(`"${stray}" is no option; only --mutants takes names`);
  const { plain: isPlain = false, losses: hasLosses = !isPlain } = values;
  const variant = { isPlain, hasLosses };
  if (seed !== undefined) return { kind: 'seed', seed: wholeNumber('--seed', seed), variant };
  const from = wholeNumber('--from', values.from ?? '1');
  const seeds = wholeNumber('--seeds', values.seeds ?? '10000');
  return { kind: 'seeds', from, seeds, workers, variant };
}

/** What each kind of command takes. */
const TAKEN = {
  seeds: ['seeds', 'from', 'workers', 'plain', 'losses'],
  seed: ['seed', 'plain', 'losses'],
  mutants: ['mutants', 'write', 'workers'],
} as const;

/** An option that has no effect is a mistake: `--seed 7 --seeds 100` would play one seed. */
function refuseUnused(values: object, kind: keyof typeof TAKEN): void {
  const taken: readonly string[] = TAKEN[kind];
  const unused = Object.keys(values).find((name) => !taken.includes(name));
  if (unused === undefined) return;
  const others = Object.entries(TAKEN).filter(([, names]) => names.some((name) => name === unused));
  const owners = others.map(([name]) => (name === 'seeds' ? 'a number of seeds' : `--${name}`));
  throw new Error(`--${unused} has no effect here; it belongs to ${owners.join(' and ')}`);
}

function mutantsNamed(names: readonly string[]): ReadonlySet<string> {
  const all = MUTANTS.map(({ name }) => name);
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) {
    throw new Error(`there is no planted bug "${unknown}"; README.md lists them`);
  }
  return new Set(names.length === 0 ? all : names);
}
