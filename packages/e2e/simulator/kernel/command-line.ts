import { parseArgs } from 'node:util';
import { wholeNumber } from '../../src/whole-number.ts';
import type { Mutant, Simulation } from './simulation.ts';

/** A planted bug must be found within so many seeds. */
const MUTANT_SEEDS = 20_000;

/** Options that only one of the simulations has. */
const OF_ONE = ['plain', 'losses', 'keep'] as const;

/** Leaves out what only some scenarios have. */
export interface Variant {
  isPlain: boolean;
  hasLosses: boolean;
}

export type Command =
  | { kind: 'help'; text: string }
  | {
      kind: 'seeds';
      from: number;
      seeds: number;
      workers: number;
      variant: Variant;
      /** What becomes of the shares of statements that are executed. */
      coverage: 'shown' | 'compared' | 'recorded' | undefined;
    }
  | {
      kind: 'seed';
      seed: number;
      variant: Variant;
      keep: readonly number[] | undefined;
      planted: Mutant | undefined;
    }
  | {
      kind: 'mutants';
      mutants: readonly Mutant[];
      from: number;
      seeds: number;
      workers: number;
    };

export type CommandOf<Kind extends Command['kind']> = Extract<Command, { kind: Kind }>;

function helpOf({ command, about, options, seeds, workers, coverage }: Simulation): string {
  const own = Object.entries(options).map(([name, text]) => `  ${name.padEnd(14)} ${text}`);
  return `${about}

Usage:
  pnpm ${command} [--seeds N] [--from S] [--workers N]       seeds S to S + N - 1
  pnpm ${command} --seed S                                   one seed with its trace; one that fails is shortened first
  pnpm ${command} --coverage [--record]                       seeds 1 to ${coverage.seeds}, and which share of the statements they execute
  pnpm ${command} --mutants [--seeds N] [--from S] [--workers N] [NAME]...   plants bugs, all or those named, and plays seeds until one fails
  pnpm ${command} --mutants NAME --seed S                    how that bug shows in this seed, if it does

Options:
  --seeds N      how many seeds to play (${seeds}); with --mutants, the most for each bug (${MUTANT_SEEDS})
  --from S       the first of them (1)
  --workers N    threads (${workers})
  --seed S       play this seed only
  --mutants      plant each bug alone; it must be found
  --coverage     print by folder which share of the statements is executed; with as many seeds as usual, none may fall
  --record       with --coverage: write the shares down, which no later run may fall below
${own.join('\n')}
  --help         show this text

The exit code is 1 if anything failed, and 2 if the command line can't be read.
`;
}

/**
 * What a command line asks for.
 *
 * @throws Error with a sentence for the user where it can't be read
 */
export function readCommand(simulation: Simulation, args: string[]): Command {
  const own = Object.keys(simulation.options).map((name) => name.replace(/^--(no-)?| .*$/g, ''));
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    allowNegative: true,
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      workers: { type: 'string' },
      seed: { type: 'string' },
      mutants: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      plain: { type: 'boolean' },
      losses: { type: 'boolean' },
      keep: { type: 'string' },
      coverage: { type: 'boolean' },
      record: { type: 'boolean' },
    },
  });
  const foreign = OF_ONE.find((name) => values[name] !== undefined && !own.includes(name));
  if (foreign !== undefined) throw new Error(`Unknown option '--${foreign}'`);
  if (values.help) return { kind: 'help', text: helpOf(simulation) };
  const { mutants = false, seed } = values;
  const kind = seed !== undefined ? 'seed' : mutants ? 'mutants' : 'seeds';
  refuseUnused(values, kind);
  const [stray] = mutants ? [] : positionals;
  if (stray !== undefined) throw new Error(`"${stray}" is no option; only --mutants takes names`);
  const named = mutantsNamed(simulation.mutants, positionals);
  const { plain: isPlain = false, losses: hasLosses = !isPlain } = values;
  const variant = { isPlain, hasLosses };
  const workers = wholeNumber('--workers', values.workers ?? String(simulation.workers));
  const seeds = (usual: number) => wholeNumber('--seeds', values.seeds ?? String(usual));
  if (seed !== undefined) {
    if (mutants && named.length !== 1) throw new Error('--mutants with --seed takes one name');
    const [planted] = mutants ? named : [];
    const keep = values.keep === undefined ? undefined : actionsNamed(values.keep);
    return { kind: 'seed', seed: wholeNumber('--seed', seed), variant, keep, planted };
  }
  const from = wholeNumber('--from', values.from ?? '1');
  if (mutants)
    return { kind: 'mutants', mutants: named, from, seeds: seeds(MUTANT_SEEDS), workers };
  const { seeds: usual } = values.coverage ? simulation.coverage : simulation;
  const coverage = coverageOf(values);
  return { kind: 'seeds', from, seeds: seeds(usual), workers, variant, coverage };
}

/** Other seeds than the usual ones execute something else, so that their shares are shown and not compared. */
function coverageOf({
  coverage = false,
  record = false,
  ...others
}: Record<string, string | boolean | undefined>): CommandOf<'seeds'>['coverage'] {
  const isUsual = Object.keys(others).every((name) => name === 'workers');
  if (record && !(coverage && isUsual))
    throw new Error('--record belongs to --coverage with its usual seeds');
  if (!coverage) return undefined;
  return record ? 'recorded' : isUsual ? 'compared' : 'shown';
}

/** Numbers of actions, from 0 on, as a failure prints them. */
function actionsNamed(text: string): number[] {
  if (text === 'none') return [];
  if (!/^\d+(,\d+)*$/.test(text)) {
    throw new Error(`--keep is "${text}"; expected numbers such as 2,7, or none`);
  }
  return text.split(',').map(Number);
}

/** What each kind of command takes. */
const TAKEN = {
  seeds: ['seeds', 'from', 'workers', 'plain', 'losses', 'coverage', 'record'],
  seed: ['seed', 'plain', 'losses', 'keep', 'mutants'],
  mutants: ['mutants', 'seeds', 'from', 'workers'],
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

function mutantsNamed(mutants: readonly Mutant[], names: readonly string[]): readonly Mutant[] {
  const unknown = names.find((name) => !mutants.some((mutant) => mutant.name === name));
  if (unknown !== undefined) {
    throw new Error(`there is no planted bug "${unknown}"; the folder of the simulator has them`);
  }
  return names.length === 0 ? mutants : mutants.filter(({ name }) => names.includes(name));
}
