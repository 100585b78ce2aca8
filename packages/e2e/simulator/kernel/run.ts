import { type Command, type CommandOf, readCommand, type Variant } from './command-line.ts';
import { checkCoverage, type RunScript } from './coverage.ts';
import { eachOf, Player } from './pool.ts';
import { addShares, type Shares, textOf } from './shares.ts';
import { shrink } from './shrink.ts';
import type { Simulation, SimulatorModule } from './simulation.ts';
import type { ChunkReport } from './worker.ts';

/** Seeds that a worker plays before it reports. */
const CHUNK_SEEDS = 250;

/** Failures that are shown; the number of all of them is in the last line. */
const SHOWN_FAILURES = 100;

const WRONG_USAGE = 2;

/** Carries out a command line of a simulation. Resolves to the exit code. */
export async function runSimulation(simulation: Simulation, args: string[]): Promise<number> {
  let command: Command;
  try {
    command = readCommand(simulation, args);
  } catch (error) {
    // What Node adds about positional arguments has nothing to do with these options.
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('. ', 1);
    const { command: name } = simulation;
    process.stderr.write(`${name}: ${reason}. See pnpm ${name} --help.\n`);
    return WRONG_USAGE;
  }
  return (await carryOut(simulation, command)) ? 0 : 1;
}

async function carryOut(simulation: Simulation, command: Command): Promise<boolean> {
  switch (command.kind) {
    case 'help':
      process.stdout.write(command.text);
      return true;
    case 'seeds':
      return await playSeeds(simulation, command);
    case 'seed':
      return await playOne(simulation, command);
    case 'mutants':
      return await playMutants(simulation, command);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Plays a seed and shows it. Where it fails, all is left out that has no part in the failure. */
async function playOne(
  { command, player, unit }: Simulation,
  { seed, variant, keep, planted }: CommandOf<'seed'>,
): Promise<boolean> {
  const { load }: SimulatorModule = await import(player.href);
  const simulator = await load(planted?.patches ?? []);
  let scenario = simulator.scenarioOf(seed, variant, keep);
  let played = await simulator.play(scenario, true);
  if (played.failure !== undefined && keep === undefined) {
    const fails = async (smaller: unknown) => (await simulator.play(smaller, false)).failure;
    scenario = await shrink(scenario, played.failure, simulator.smaller, fails);
    played = await simulator.play(scenario, true);
  }
  await simulator.close?.();
  const { failure, amount, trace } = played;
  const shown = failure === undefined ? undefined : simulator.shown(scenario);
  for (const line of [shown ?? [], ...trace].flat()) say(line);
  if (failure !== undefined)
    say(
      `${failure}\n  pnpm ${command} --seed ${seed}${flagOf(variant)}${simulator.again(scenario)}`,
    );
  say(`1 seeds, ${Number(failure !== undefined)} failures, ${amount} ${unit}`);
  return failure === undefined;
}

async function playSeeds(
  { command, player: module, unit, coverage: { packages } }: Simulation,
  { from, seeds, workers, variant, coverage }: CommandOf<'seeds'>,
): Promise<boolean> {
  const startedAt = performance.now();
  const total = { seeds: 0, amount: 0, failures: 0, cpuUs: 0 };
  const shares: Shares = {};
  const chunks = Array.from({ length: Math.ceil(seeds / CHUNK_SEEDS) }, (_, index) => index);
  const players = Array.from(
    { length: workers },
    () => new Player(module, [], coverage !== undefined),
  );
  const free = [...players];
  let said = 0;
  await eachOf(chunks, workers, async (index) => {
    const player = free.pop();
    if (player === undefined) return;
    const first = from + index * CHUNK_SEEDS;
    const count = Math.min(CHUNK_SEEDS, from + seeds - first);
    const report = await player.play({ first, count, stopsAtFailure: false, variant });
    free.push(player);
    total.seeds += report.seeds;
    total.amount += report.amount;
    total.cpuUs += report.cpuUs;
    addShares(shares, report.shares);
    for (const { seed, message } of report.failures) {
      total.failures += 1;
      if (total.failures <= SHOWN_FAILURES) sayFailure(seed, message, command, variant);
    }
    const share = Math.floor((10 * total.seeds) / seeds);
    const steps = seeds > 100_000 ? Math.floor(total.seeds / 20_000) : share;
    if (steps === said) return;
    said = steps;
    say(
      `${total.seeds} of ${seeds} seeds, up to about seed ${first + count - 1}, ${total.failures} failures`,
    );
  });
  const scripts: RunScript[] = [];
  if (coverage !== undefined) {
    for (const player of players) scripts.push(...(await player.coverage()));
  }
  await Promise.all(players.map((player) => player.end()));
  const seconds = (performance.now() - startedAt) / 1000;
  const perCpuSecond = Math.round(total.amount / (total.cpuUs / 1e6));
  const checked = textOf(shares);
  say(
    `${total.seeds} seeds, ${total.failures} failures, ${total.amount} ${unit} in ${seconds.toFixed(1)} s: ` +
      `${Math.round(total.amount / seconds)} a second on ${workers} threads, ${perCpuSecond} a second of CPU time` +
      (checked === '' ? '' : `; checked: ${checked}`),
  );
  const isCovered =
    coverage === undefined || (await checkCoverage({ command, scripts, packages, coverage, say }));
  return total.failures === 0 && isCovered;
}

function sayFailure(seed: number, message: string, command: string, variant: Variant): void {
  say(`seed ${seed}: ${message}\n  pnpm ${command} --seed ${seed}${flagOf(variant)}`);
}

function flagOf({ isPlain, hasLosses }: Variant): string {
  return isPlain ? ' --plain' : hasLosses ? '' : ' --no-losses';
}

/** What a program says that was not changed but broken: such a planted bug shows nothing. */
const BROKEN = /\bReferenceError\b|\bAssignment to constant\b/;

/** Plants each bug in turn, and plays seeds until one fails. */
async function playMutants(
  { command, player: module }: Simulation,
  { mutants, from, seeds: most, workers }: CommandOf<'mutants'>,
): Promise<boolean> {
  /** The seeds that have found a bug. */
  const finders = new Set<number>();
  let survivors = 0;
  await eachOf(mutants, workers, async ({ name, patches }) => {
    const player = new Player(module, patches);
    let seeds = 0;
    let found: string | undefined;
    while (found === undefined && seeds < most) {
      const count = Math.min(CHUNK_SEEDS, most - seeds);
      const report = await player.play({ first: from + seeds, count, stopsAtFailure: true });
      seeds += report.seeds;
      found = report.failures[0]?.message;
    }
    await player.end();
    const isBroken = found !== undefined && BROKEN.test(found);
    if (found === undefined || isBroken) survivors += 1;
    else finders.add(from + seeds - 1);
    const word = found === undefined ? 'NOT FOUND' : isBroken ? 'BROKEN' : 'found';
    const how = [word, ...(found?.split('\n', 1) ?? [])].join(', ');
    say(`${name.padEnd(42)} ${String(seeds).padStart(6)} seeds: ${how}`);
  });
  const failing = await failuresOf(module, finders);
  for (const { seed, message } of failing)
    say(
      `seed ${seed} fails without a planted bug too: ${message}\n  pnpm ${command} --seed ${seed}`,
    );
  say(`${mutants.length} planted bugs, ${survivors} not found within ${most} seeds each`);
  return mutants.length > 0 && survivors === 0 && failing.length === 0;
}

/** What fails as the programs are. A seed that fails anyway has not found the bug that was planted. */
async function failuresOf(module: URL, seeds: Iterable<number>): Promise<ChunkReport['failures']> {
  const player = new Player(module, []);
  const failures: ChunkReport['failures'] = [];
  for (const first of seeds) {
    const report = await player.play({ first, count: 1, stopsAtFailure: true });
    failures.push(...report.failures);
  }
  await player.end();
  return failures;
}
