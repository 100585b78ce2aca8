import type { ImportSettings } from '../../cli/src/import/types.ts';
import type { Service } from '../../sdk/test/scripted-service/service.ts';
import { checkPrinted } from './command.ts';
import { Random } from './kernel/random.ts';
import type { Shares } from './kernel/shares.ts';
import type { Played } from './kernel/simulation.ts';
import { checkClosed, checkNothingToDo, isFinished, refusalOf } from './oracle/end-rules.ts';
import { Oracle } from './oracle/oracle.ts';
import { type Ended, type Programs, type Started, startProgram } from './program.ts';
import { inputText } from './scenario/file-text.ts';
import type { RunPlan, Scenario } from './scenario/scenario.ts';
import { type Decisions, settingsOf } from './scenario/settings.ts';
import { quietly } from './scenario/shrink.ts';
import { UserFiles } from './scenario/user-files.ts';
import { serviceOf } from './services/service-of.ts';
import { verifyResults } from './verify.ts';
import { Disk } from './world/disk.ts';
import { Network } from './world/network.ts';
import { ELSEWHERE, enterWorld, Process, World } from './world/world.ts';

/** Runs without faults that may follow, until every row is decided. */
const MAX_QUIET_RUNS = 6;

/** Plays a scenario to its end: its runs, then quiet ones until nothing is left to do. */
export async function play(
  scenario: Scenario,
  programs: Programs,
  isTraced = false,
): Promise<Played> {
  const disk = new Disk(new Random(scenario.seed, 3));
  const world = new World(scenario.seed, disk, isTraced);
  disk.readsShort = scenario.user.readsShort;
  enterWorld(world);
  const stage = new Stage(scenario, programs, world);
  let failure: string | undefined;
  try {
    await stage.play();
  } catch (error) {
    failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  stage.close();
  disk.release();
  const { imports: amount, shares } = stage;
  return { amount, failure, trace: world.trace ?? [], shares };
}

class Stage {
  imports = 0;
  readonly #scenario: Scenario;
  readonly #programs: Programs;
  readonly #world: World;
  readonly #service: Service;
  readonly #network: Network;
  readonly #oracle: Oracle;
  readonly #files: UserFiles;
  #run = 0;
  #keys = 0;

  constructor(scenario: Scenario, programs: Programs, world: World) {
    this.#scenario = scenario;
    this.#programs = programs;
    this.#world = world;
    this.#files = new UserFiles(scenario.user, scenario.runs, world);
    this.#service = serviceOf(scenario, programs.server, world);
    this.#network = new Network(world, this.#service, scenario.seed);
    world.fetch = this.#network.fetch;
    this.#oracle = new Oracle({
      scenario,
      world,
      service: this.#service,
      network: this.#network,
      exitCodeOf: programs.exitCodeOf,
    });
  }

  get shares(): Shares {
    return this.#oracle.shares;
  }

  close(): void {
    this.#service.close();
  }

  async play(): Promise<void> {
    const { runs, user } = this.#scenario;
    for (const [index, plan] of runs.entries()) {
      const { onUnknown = user.onUnknown, onSimilar = 'stop' } = plan;
      await this.#playRun(plan, { onUnknown, onSimilar });
      this.#files.afterRun(index);
    }
    const last = runs.at(-1);
    if (last === undefined) return;
    const quiet = quietly(last);
    this.#service.unlimit();
    let ended: Ended;
    let hasMoved = false;
    let onSimilar = 'stop' as Decisions['onSimilar'];
    for (let round = 0; ; round += 1) {
      const { onUnknown } = user;
      // A user who was stopped looks at the rows, and decides.
      const isDecided = round > 0 && onUnknown === 'stop';
      const policy = isDecided ? user.decides : onUnknown;
      ended = await this.#playRun(quiet, { onUnknown: policy, onSimilar, hasMoved });
      const refusal = refusalOf(ended);
      if (refusal !== undefined) {
        // Nothing was sent, since links may or may not be those of the rows: the user has read why. Targets that changed places were meant to.
        const isMoved = refusal.message.includes('sorted by itself');
        onSimilar = isMoved || onSimilar === 'create' ? 'create' : user.onSimilar;
        hasMoved = this.#files.setAside(refusal.message);
      } else if (isFinished(ended, quiet.rows, user, policy, this.#scenario.service)) break;
      if (round === MAX_QUIET_RUNS) throw new Error('quiet runs do not come to an end');
    }
    await this.#verify();
    const before = this.#network.exchanges.length;
    const policy = user.onUnknown === 'stop' ? user.decides : user.onUnknown;
    const again = await this.#playRun(quiet, { onUnknown: policy, onSimilar });
    checkNothingToDo(ended, again, this.#network.exchanges.slice(before), user);
  }

  async #playRun(plan: RunPlan, decided: Omit<Decisions, 'known'>): Promise<Ended> {
    const world = this.#world;
    this.#run += 1;
    await this.#pause(plan.pauseMs);
    this.#service.settle();
    world.log(
      () =>
        `=== run ${this.#run}: ${plan.rows.length} rows, --on-unknown ${decided.onUnknown}, --on-similar ${decided.onSimilar}`,
    );
    this.#files.prepare(plan);
    const decisions = { ...decided, known: this.#files.known() };
    const { paths } = this.#files;
    this.#setUpService(plan);
    this.#network.beginRun(this.#run, plan.faults);
    const settings = settingsOf(plan, this.#scenario.user, decisions, paths);
    const process = new Process(`run ${this.#run}`, plan);
    this.#oracle.beginRun(plan, settings, process, { paths, decisions });
    const ended = [this.#start(process, settings)];
    this.#scheduleEvents(plan, process, settings, ended);
    const isDone = () => ended.every(({ isDone: done, value }) => done || !value.process.isAlive);
    await world.scheduler.drive(isDone);
    const [first] = ended;
    if (first === undefined) throw new Error('nothing was started');
    for (const { value } of ended) this.#logEnd(value);
    const { command } = this.#scenario.user;
    for (const { value } of ended) {
      checkClosed(value);
      if (command !== undefined) checkPrinted(value, command, world, ended.length === 1);
    }
    for (const { value } of ended) world.exit(value.process);
    if (plan.losesPowerAfter) {
      world.log(() => '--- the power fails');
      world.disk.losePower();
    }
    this.#service.settle();
    for (const { value } of ended) this.#oracle.endRun(plan, value, ended.length > 1);
    return first.value;
  }

  /** One who types command lines looks whether the links lead where they should, before the same command is run again. */
  async #verify(): Promise<void> {
    const { seed, user } = this.#scenario;
    const { command: how } = user;
    const random = new Random(seed, 9);
    if (how === undefined || random.chance(0.4)) return;
    await verifyResults(this.#files.paths.results, {
      programs: this.#programs,
      world: this.#world,
      service: this.#service,
      apiKey: this.#apiKey,
      ...{ user, how, random },
    });
  }

  /** Lets time go by. What is still on its way to the service arrives meanwhile. */
  async #pause(ms: number): Promise<void> {
    const { scheduler } = this.#world;
    let isOver = false;
    scheduler.after(ms, ELSEWHERE, () => {
      isOver = true;
    });
    await scheduler.drive(() => isOver);
  }

  #logEnd({ process, summary, error }: Ended): void {
    if (error !== undefined) this.#world.log(() => `${process.name} fails: ${String(error)}`);
    if (summary === undefined) return;
    const { created, existing, rejected, failed, unknown, unsent, stopped } = summary;
    const counts = { created, existing, rejected, failed, unknown, unsent };
    this.#world.log(() => `${process.name} ends: ${JSON.stringify({ ...counts, ...stopped })}`);
  }

  #setUpService(plan: RunPlan): void {
    this.#service.setLenient(plan.isLenient);
    if (plan.key === 'rotated') this.#keys += 1;
    const key = plan.key === 'revoked' ? 'another' : this.#apiKey;
    this.#service.setKey(key, plan.key !== 'forbidden');
    if (plan.links !== undefined) this.#service.setLinkLimit(plan.links);
    this.#service.useUp(plan.othersLinks);
  }

  #start(process: Process, settings: ImportSettings): Started {
    this.imports += 1;
    const { user } = this.#scenario;
    return startProgram(process, settings, {
      programs: this.#programs,
      world: this.#world,
      network: this.#network,
      user,
      apiKey: this.#apiKey,
      stdin: user.fromStdin ? inputText(this.#oracle.rows, user, undefined, undefined) : '',
    });
  }

  get #apiKey(): string {
    return `sk_simulated_${this.#keys}`;
  }

  #scheduleEvents(
    plan: RunPlan,
    process: Process,
    settings: ImportSettings,
    ended: Started[],
  ): void {
    const world = this.#world;
    const { scheduler } = world;
    const { stop, restartsMs, clockJump, secondMs, editMs } = plan;
    const [first] = ended;
    if (stop !== undefined) {
      const pressAt = (ms: number, which: 'soft' | 'hard') =>
        scheduler.after(ms, process, () => {
          world.log(() => `--- Ctrl-C (${which})`);
          first?.press(which);
        });
      pressAt(stop.softMs, 'soft');
      if (stop.hardMs !== undefined) pressAt(stop.softMs + stop.hardMs, 'hard');
    }
    for (const ms of restartsMs) scheduler.after(ms, process, () => this.#network.restartService());
    if (clockJump !== undefined) {
      scheduler.after(clockJump.atMs, process, () => {
        world.log(() => `--- the clock jumps by ${clockJump.byMs} ms`);
        scheduler.now += clockJump.byMs;
      });
    }
    if (secondMs !== undefined) {
      scheduler.after(secondMs, process, () => {
        const second = new Process(`${process.name} (second)`);
        ended.push(this.#start(second, settings));
      });
    }
    if (editMs !== undefined && !this.#scenario.user.fromStdin) {
      scheduler.after(editMs, process, () => this.#files.touchInput());
    }
  }
}
