/** Simulates imports: seeds, one seed with its trace, or planted bugs. See README.md, or `pnpm simulate --help`. */

import { runSimulation } from './kernel/run.ts';
import { MUTANTS } from './mutants/mutants.ts';

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
  },
  process.argv.slice(2),
);
