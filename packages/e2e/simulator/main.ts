/** Simulates imports: seeds, one seed with its trace, or planted bugs. See README.md, or `pnpm simulate --help`. */
import { type Command, readCommand, type Variant } from './command-line.ts';
import { loadPrograms } from './load-programs.ts';
import { MUTANTS } from './mutants/mutants.ts';
import { writeTable } from './mutants/table.ts';
import { addShares, type Shares, textOf } from './oracle/tally.ts';
import { play } from './play.ts';
import { eachOf, Player } from './pool.ts';
import { generate } from './scenario/generate.ts';
import { shrink } from './scenario/shrink.ts';
import type { ChunkReport } from './worker.ts';

/** Seeds that a worker plays before it reports. */
const CHUNK_SEEDS = 250;

/** Failures that are shown; the number of all of them is in the last line. */
const SHOWN_FAILURES = 100;

/** A planted bug must be found within so many seeds. */
const MUTANT_SEEDS = 20_000;

const WRONG_USAGE = 2;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  let command: Command;
  try {
    command = readCommand(args);
  } catch (error) {
    // What Node adds about positional arguments has nothing to do with these options.
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('. ', 1);
    process.stderr.write(`simulate: ${reason}. See pnpm simulate --help.\n`);
    return WRONG_USAGE;
  }
  return (await run(command)) ? 0 : 1;
}

async function run(command: Command): Promise<boolean> {
  switch (command.kind) {
    case 'help':
      process.stdout.write(command.text);
      return true;
    case 'seeds':
      return await playSeeds(command);
    case 'seed':
      return await playOne(command.seed, command.variant);
    case 'mutants':
      return await playMutants(command);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

type CommandOf<Kind extends Command['kind']> = Extract<Command, { kind: Kind }>;

async function playSeeds({ from, seeds, workers, variant }: CommandOf<'seeds'>): Promise<boolean> {
  const startedAt = performance.now();
  const total = { seeds: 0, imports: 0, failures: 0, cpuUs: 0 };
  const shares: Shares = {};
  const chunks = Array.from({ length: Math.ceil(seeds / CHUNK_SEEDS) }, (_, index) => index);
  const players = Array.from({ length: workers }, () => new Player([], variant));
  const free = [...players];
  let said = 0;
  await eachOf(chunks, workers, async (index) => {
    const player = free.pop();
    if (player === undefined) return;
    const first = from + index * CHUNK_SEEDS;
    const count = Math.min(CHUNK_SEEDS, from + seeds - first);
    const report = await player.play({ first, count, stopsAtFailure: false });
    free.push(player);
    total.seeds += report.seeds;
    total.imports += report.imports;
    total.cpuUs += report.cpuUs;
    addShares(shares, report.shares);
    for (const { seed, message } of report.failures) {
      total.failures += 1;
      if (total.failures <= SHOWN_FAILURES)
        say(`seed ${seed}: ${message}\n  pnpm simulate --seed ${seed}`);
    }
    const share = Math.floor((10 * total.seeds) / seeds);
    const steps = seeds > 100_000 ? Math.floor(total.seeds / 20_000) : share;
    if (steps === said) return;
    said = steps;
    say(
      `${total.seeds} of ${seeds} seeds, up to about seed ${first + count - 1}, ${total.failures} failures`,
    );
  });
  await Promise.all(players.map((player) => player.end()));
  const seconds = (performance.now() - startedAt) / 1000;
  const perCpuSecond = Math.round(total.imports / (total.cpuUs / 1e6));
  say(
    `${total.seeds} seeds, ${total.failures} failures, ${total.imports} simulated imports in ${seconds.toFixed(1)} s: ` +
      `${Math.round(total.imports / seconds)} a second on ${workers} threads, ${perCpuSecond} a second of CPU time; checked: ${textOf(shares)}`,
  );
  return total.failures === 0;
}

/** Plays a seed; where it fails, what is left of it once all is left out that has no part in the failure. */
async function playOne(seed: number, variant: Variant): Promise<boolean> {
  const programs = await loadPrograms();
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

/** Plants each bug in turn, and plays seeds until one fails. */
async function playMutants({ names, writes, workers }: CommandOf<'mutants'>): Promise<boolean> {
  const mutants = MUTANTS.filter(({ name }) => names.has(name));
  const results = new Map<string, number | undefined>();
  await eachOf(mutants, workers, async ({ name, patches }) => {
    const player = new Player(patches);
    let seeds = 0;
    let found: string | undefined;
    while (found === undefined && seeds < MUTANT_SEEDS) {
      const report = await player.play({
        first: seeds + 1,
        count: CHUNK_SEEDS,
        stopsAtFailure: true,
      });
      seeds += report.seeds;
      found = report.failures[0]?.message;
    }
    await player.end();
    results.set(name, found === undefined ? undefined : seeds);
    const how = found === undefined ? 'NOT FOUND' : `found, ${found.split('\n', 1)[0]}`;
    say(`${name.padEnd(42)} ${String(seeds).padStart(6)} seeds: ${how}`);
  });
  const survivors = [...results.values()].filter((seeds) => seeds === undefined).length;
  if (writes) writeTable(mutants.map(({ name }) => ({ name, seeds: results.get(name) })));
  const failing = await failuresOf([...results.values()].filter((seeds) => seeds !== undefined));
  for (const { seed, message } of failing)
    say(`seed ${seed} fails without a planted bug too: ${message}\n  pnpm simulate --seed ${seed}`);
  say(`${mutants.length} planted bugs, ${survivors} not found within ${MUTANT_SEEDS} seeds each`);
  return mutants.length > 0 && survivors === 0 && failing.length === 0;
}

/** What fails as the programs are. A seed that fails anyway has not found the bug that was planted. */
async function failuresOf(seeds: readonly number[]): Promise<ChunkReport['failures']> {
  const player = new Player([]);
  const failures: ChunkReport['failures'] = [];
  for (const first of new Set(seeds)) {
    const report = await player.play({ first, count: 1, stopsAtFailure: true });
    failures.push(...report.failures);
  }
  await player.end();
  return failures;
}
