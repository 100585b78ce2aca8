/** What a night plays: the words after `pnpm`, and what the page counts of it. */
export interface Part {
  command: readonly string[];
  amount: number;
  unit: string;
  env?: Record<string, string>;
}

const IMPORTS = 200_000;
const HISTORIES = 20_000;
const POSTGRES_HISTORIES = 2_000;
const KILLS = 400;
const ROUNDS = 100;
const REQUESTS = 100_000;
const ROWS = 1_000_000;
const MUTANTS = 120;
const FAILOVERS = 20;

const UNIT_TESTS = ['sdk', 'tables', 'cli', 'server'];

const e2e = (...words: (string | number)[]) => ['--filter', '@shortlink/e2e', ...words.map(String)];

/** The same seeds each night: what they execute changes with the sources alone. */
const coverageOf = (...command: string[]): Part => ({
  command: [...command, '--coverage'],
  amount: 1,
  unit: 'times what the simulation executes',
});

/** The tests of these projects, at the length for which the suite has no time. */
const atLength = (unit: string, ...projects: string[]): Part => ({
  command: ['suite', ...projects.flatMap((name) => ['--project', name])],
  amount: 1,
  unit,
  env: { SHORTLINK_TEST_NIGHT: '1' },
});

const THREE_SERVERS = atLength(
  'times the tests on three servers that share a PostgreSQL',
  'e2e-cluster',
);
const AT_LENGTH = atLength('times the tests that the suite shortens', 'e2e', 'server');

/**
 * Every part of a night by its name, which is the name of its job. The day chooses what is drawn: each night begins behind the seeds of the one
 * before.
 *
 * @param day - days since the epoch
 */
export function partsOf(day: number): Record<string, Part> {
  const seeds = (count: number) => ['--seeds', String(count), '--from', String(day * count)];
  return {
    imports: {
      command: ['simulate', ...seeds(IMPORTS)],
      amount: IMPORTS,
      unit: 'seeds of simulated imports',
    },
    histories: {
      command: ['simulate:server', ...seeds(HISTORIES), '--workers', '2'],
      amount: HISTORIES,
      unit: 'seeds of the simulated server',
    },
    'histories-on-postgres': {
      command: ['simulate:server', '--postgres', ...seeds(POSTGRES_HISTORIES), '--workers', '2'],
      amount: POSTGRES_HISTORIES,
      unit: 'seeds of the simulated server on PostgreSQL',
    },
    'bugs-of-imports': {
      command: ['simulate', '--mutants'],
      amount: 1,
      unit: 'times every planted bug of the import',
    },
    'bugs-of-server': {
      command: ['simulate:server', '--mutants', '--workers', '2'],
      amount: 1,
      unit: 'times every planted bug of the server',
    },
    'bugs-on-postgres': {
      command: ['simulate:server', '--postgres', '--mutants', '--seeds', '500', '--workers', '2'],
      amount: 1,
      unit: 'times every planted bug of the server on PostgreSQL',
    },
    'coverage-of-imports': coverageOf('simulate'),
    'coverage-of-server': coverageOf('simulate:server'),
    'coverage-on-postgres': coverageOf('simulate:server', '--postgres'),
    kills: { command: e2e('kill', KILLS), amount: KILLS, unit: 'killed imports' },
    'power-cuts': {
      command: e2e('kill', KILLS, '--power-cuts'),
      amount: KILLS,
      unit: 'imports without power',
    },
    torture: { command: e2e('torture', ROUNDS), amount: ROUNDS, unit: 'killed servers' },
    'torture-of-three': {
      command: e2e('torture', ROUNDS),
      amount: ROUNDS,
      unit: 'killed servers that share a PostgreSQL',
      env: { SHORTLINK_E2E_BACKEND: 'cluster' },
    },
    failovers: {
      command: ['failovers'],
      amount: FAILOVERS,
      unit: 'failovers of PostgreSQL under load',
    },
    drawn: {
      command: ['suite', ...UNIT_TESTS.flatMap((name) => ['--project', name])],
      amount: 1,
      unit: 'times the tests of random cases, with others',
      env: { SHORTLINK_TEST_SEED: String(day) },
    },
    'three-servers': THREE_SERVERS,
    'at-length': AT_LENGTH,
    fuzz: { command: e2e('fuzz', REQUESTS, day), amount: REQUESTS, unit: 'random requests' },
    million: { command: e2e('million', ROWS), amount: ROWS, unit: 'links imported at once' },
    mutants: {
      command: ['mutants', '--count', String(MUTANTS), '--seed', String(day)],
      amount: MUTANTS,
      unit: 'small faults planted in the sources',
    },
  };
}
