/** Simulates the server: seeds, one seed, or planted bugs. See README.md, or `pnpm simulate:server --help`. */
import { startPostgres } from '../../../server/test/start-postgres.ts';
import { runSimulation } from '../kernel/run.ts';
import { mutants } from './mutants.ts';
import { DATABASE } from './postgres-base.ts';
import { postgresMutants } from './postgres-mutants.ts';
import { SETTINGS } from './postgres-pair.ts';

const [given, onPostgres] = [process.argv.slice(2), '--postgres'];
const isOnPostgres = given.includes(onPostgres);
const postgres = isOnPostgres ? await startPostgres(SETTINGS) : undefined;
if (postgres !== undefined) process.env[DATABASE] = postgres.url;

const command = isOnPostgres ? `simulate:server ${onPostgres}` : 'simulate:server';
const planted = isOnPostgres ? postgresMutants : mutants;

try {
  process.exitCode = await runSimulation(
    {
      command,
      about:
        'Plays histories of several servers on virtual time: creates, batches, polls, crashes and faults, and checks each response.',
      options: {
        '--keep 2,7': 'with --seed: carry out only these actions of the history',
        [onPostgres]: 'on a real PostgreSQL, of whose statements one goes at a time (100)',
      },
      player: new URL('./player.ts', import.meta.url),
      unit: 'requests',
      mutants: Object.entries(planted).map(([name, { patches }]) => ({ name, patches })),
      seeds: isOnPostgres ? 100 : 1_000,
      coverage: { packages: ['server'], seeds: isOnPostgres ? 50 : 500 },
      workers: 1,
    },
    given.filter((arg) => arg !== onPostgres),
  );
} finally {
  await postgres?.remove();
}
