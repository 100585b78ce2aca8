/** Simulates imports: seeds, one seed with its trace, or planted bugs. See README.md, or `pnpm simulate --help`. */
import { loadPrograms } from './load-programs.ts';
import { MUTANTS } from './mutants/mutants.ts';
import { play } from './play.ts';
import { runSimulation } from './run.ts';
import { generate } from './scenario/generate.ts';
import { shrink } from './scenario/shrink.ts';
import type { OneSeed } from './simulation.ts';

process.exitCode = await runSimulation(
  {
    command: 'simulate',
    about:
      'Plays imports on virtual time against failing services, networks and disks, and checks each row.',
    options: {
      '--no-losses': 'files are neither lost nor damaged between two runs (not with --mutants)',
      '--plain':
        'without losses, and without the other extras that only some scenarios have (not with --mutants)',
    },
    player: new URL('./player.ts', import.meta.url),
    unit: 'simulated imports',
    mutants: MUTANTS,
    seeds: 10_000,
    coverage: { packages: ['cli', 'sdk', 'tables'], seeds: 2_000 },
    workers: 2,
    playOne,
  },
  process.argv.slice(2),
);

/** Where a seed fails, what is left of it once all is left out that has no part in the failure. */
async function playOne({ seed, variant, patches, say }: OneSeed): Promise<boolean> {
  const programs = await loadPrograms(patches);
  const scenario = generate(seed, variant);
  const first = await play(scenario, programs, true);
  if (first.failure === undefined) {
    for (const line of first.trace) say(line);
    say(`1 seeds, 0 failures, ${first.imports} simulated imports`);
    return true;
  }
  const kindOf = (failure: string | undefined) =>
    failure?.split('\n', 1)[0]?.replace(/[\d{][^ ]*/g, 'N');
  const short = await shrink(scenario, async (candidate) =>
    kindOf((await play(candidate, programs)).failure),
  );
  const { trace, failure } = await play(short, programs, true);
  say(JSON.stringify(short, undefined, 1).replace(/\n\s{3,}/g, ' '));
  for (const line of trace) say(line);
  say(
    `${failure}\n  before it was shortened: ${first.failure.split('\n', 1)[0]}\n  pnpm simulate --seed ${seed}`,
  );
  say('1 seeds, 1 failures');
  return false;
}
