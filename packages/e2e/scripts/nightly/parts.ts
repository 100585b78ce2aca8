/** Days since the epoch: what chooses the seeds of a night. */
export const DAY = Math.floor(Date.now() / 86_400_000);

/** Seeds of a night. Each night begins behind those of the one before. */
const IMPORTS = 200_000;
const HISTORIES = 20_000;

/** What a night plays: the command, and which number of its output counts what was played. */
export interface Part {
  /** The words after `pnpm`. */
  command: readonly string[];
  /** What is counted, for the page. */
  unit: string;
  /** Finds the number in the output. The last one counts. */
  counts: RegExp;
  env?: Record<string, string>;
  /** Finds a seed that fails, and the words that play it alone, shortened. */
  again?: { seed: RegExp; command: (seed: string) => readonly string[] };
}

const e2e = (...words: string[]) => ['--filter', '@shortlink/e2e', ...words];
const KILLS = '400';
const ROUNDS = '100';
const REQUESTS = '100000';

/** Every part of a night by its name, which is the name of its job. */
export const PARTS: Record<string, Part> = {
  imports: {
    command: ['simulate', '--seeds', String(IMPORTS), '--from', String(DAY * IMPORTS)],
    unit: 'simulated imports',
    counts: /(\d+) simulated imports/g,
    again: { seed: /^seed (\d+): /m, command: (seed) => ['simulate', '--seed', seed] },
  },
  histories: {
    // It prints the shortest history of a failing seed by itself.
    command: ['simulate:server', '--seeds', String(HISTORIES), '--from', String(DAY * HISTORIES)],
    unit: 'simulated histories of the server',
    counts: /(\d+) histories/g,
  },
  'bugs-imports': {
    command: ['simulate', '--mutants'],
    unit: 'planted bugs of the import looked for',
    counts: /^(\d+) planted bugs/gm,
  },
  'bugs-server': {
    command: ['simulate:server', '--mutants'],
    unit: 'planted bugs of the server looked for',
    counts: /^(\d+) planted bugs/gm,
  },
  kills: {
    command: e2e('kill', KILLS),
    unit: 'imports killed',
    counts: /(?<=kills: )(\d+)/g,
  },
  'power-cuts': {
    command: e2e('kill', KILLS, '--power-cuts'),
    unit: 'imports killed by a power cut',
    counts: /(?<=kills: )(\d+)/g,
  },
  torture: {
    command: e2e('torture', ROUNDS),
    unit: 'servers killed under load',
    counts: /(?<=kills: )(\d+)/g,
  },
  'torture-cluster': {
    command: e2e('torture', ROUNDS),
    unit: 'servers of three killed under load',
    counts: /(?<=kills: )(\d+)/g,
    env: { SHORTLINK_E2E_BACKEND: 'cluster' },
  },
  fuzz: {
    command: e2e('fuzz', REQUESTS, String(DAY)),
    unit: 'random requests',
    counts: /^(\d+) requests in/gm,
  },
  million: {
    command: e2e('million'),
    unit: 'links imported at once into three servers',
    counts: /(?<=\brows: )(\d+)/g,
  },
  failovers: {
    command: ['failovers'],
    unit: 'failovers of PostgreSQL under load',
    counts: /(\d+) failovers/g,
  },
  mutants: {
    command: ['mutants', '--count', '120'],
    unit: 'small faults planted',
    counts: /^(\d+) faults planted/gm,
  },
};
