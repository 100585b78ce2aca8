import { Random } from '../kernel/random.ts';
import { type Owner, Scheduler } from '../kernel/scheduler.ts';
import type { Played } from '../kernel/simulation.ts';
import { Accounts } from './accounts.ts';
import { type MakeBase, newBase } from './base.ts';
import { Clients } from './clients.ts';
import { Fleet } from './fleet.ts';
import type { Account } from './ledger.ts';
import type { Server } from './load-server.ts';
import { Operator } from './operator.ts';
import { judgeEnd, judgeState } from './oracle.ts';
import { type Action, type ActionKind, choose, makePlan, type Plan } from './plan.ts';
import { judgeReads } from './reads.ts';
import { Story } from './story.ts';
import { type Instance, World } from './world.ts';

/** Time passes now and then before everything is done, and a history that takes so many steps is stuck. */
const ORDER = { leaps: { share: 0.02, mostMs: Number.MAX_VALUE }, mostSteps: 20_000 } as const;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** What the story waits for, although it needs commits: a failover is over before. */
const AFTER_FAILOVER: ReadonlySet<ActionKind> = new Set<ActionKind>([
  'wait',
  'pass',
  'start',
  'revoke',
  'limits',
]);

/** How long a job may take once nothing fails any more: a failed one is tried again after 30 s at most. */
const JOBS_END_MS = 60_000;

/** The history of a seed, and the numbers of the actions of its plan that are carried out. */
export interface Chosen {
  seed: number;
  keep: readonly number[];
}

/** @param keep - all of them by default */
export function chosenOf(server: Server, seed: number, keep?: readonly number[]): Chosen {
  return { seed, keep: keep ?? [...planOf(server, seed).actions.keys()] };
}

function planOf({ postgres }: Server, seed: number): Plan {
  return makePlan(seed, postgres !== undefined);
}

/** Plays a history: the same seed, the same history. */
export async function playHistory(server: Server, { seed, keep }: Chosen): Promise<Played> {
  const plan = planOf(server, seed);
  const random = new Random(seed, 1);
  const base = await newBase(server, random, plan.hasStandby);
  const history = new History(server, plan, random, base);
  const kept = new Set(keep);
  const failure = await history.play(plan.actions.filter((_, index) => kept.has(index)));
  const { attempts, trace } = history.ledger;
  return { failure, amount: attempts.length, trace, shares: {} };
}

class History {
  readonly #plan: Plan;
  readonly #random: Random;
  readonly #world: World;
  readonly #scheduler: Scheduler;
  readonly #owner: Owner = { name: 'clients', isAlive: true };
  readonly #story: Story;
  readonly #clients: Clients;
  readonly #links: Operator;
  readonly #accounts: Accounts;
  readonly #fleet: Fleet | undefined;

  constructor(server: Server, plan: Plan, random: Random, makeBase: MakeBase) {
    this.#plan = plan;
    this.#random = random;
    this.#scheduler = new Scheduler({ start: plan.startsAt, random, ...ORDER });
    this.#world = new World(server, this.#scheduler, random, makeBase);
    this.#story = new Story(this.#scheduler, this.#world.base.readsFail);
    this.#clients = new Clients(this.#world, this.#story, this.#owner, random);
    this.#accounts = new Accounts(this.#world, this.#story);
    this.#links = new Operator(this.#world, this.#story, this.#clients);
    const { workers } = plan;
    this.#fleet =
      workers > 0 ? new Fleet(server, this.#world, this.#story, random, workers) : undefined;
    this.#world.onFault = () => this.ledger.faults.push(this.ledger.events);
    this.#world.onWrong = (what) => this.#story.report(what);
    this.#world.onCommit = async () =>
      this.#story.report(await judgeState(this.#world, this.ledger));
  }

  get ledger() {
    return this.#story.ledger;
  }

  async play(actions: readonly Action[]): Promise<string | undefined> {
    let isOver = false;
    const story = this.#scheduler.run(this.#owner, () => this.#tell(actions));
    story.then(
      () => {
        isOver = true;
      },
      (error: unknown) => {
        isOver = true;
        this.#story.report(error instanceof Error ? (error.stack ?? error.message) : String(error));
      },
    );
    try {
      await this.#scheduler.drive(() => isOver || this.ledger.violations.length > 0);
    } catch (error) {
      this.#story.report(String(error));
    }
    await this.#world.close();
    return this.ledger.violations[0];
  }

  async #tell(actions: readonly Action[]): Promise<void> {
    for (const { limits, keys } of this.#plan.accounts) await this.#accounts.add(limits, keys);
    if (this.#fleet !== undefined) await this.#fleet.start();
    else for (const skewMs of this.#plan.skews) await this.#world.start(skewMs);
    this.#world.isFaulty = this.#plan.isFaulty;
    this.ledger.wasRough = this.#plan.isFaulty;
    for (const action of actions) {
      await this.#scheduler.pause(this.#owner);
      await this.#carryOut(action);
    }
    await this.#comeToRest();
    this.#story.report(await judgeEnd(this.#world, this.ledger));
    if (this.#plan.isReviewed) this.#story.report(await judgeReads(this.#world, this.ledger));
  }

  async #carryOut(action: Action): Promise<void> {
    const { which, size } = action;
    const { accounts, creates } = this.ledger;
    const account = choose(accounts, which);
    if (account === undefined) return;
    if (size % 8 === 0) void this.#fleet?.scrape();
    switch (action.kind) {
      case 'link':
        this.#clients.create(action, account, 1);
        return;
      case 'batch':
        this.#clients.create(action, account, 2 + (size % 5));
        return;
      case 'job':
        this.#clients.create(action, account, 101 + (size % 60));
        return;
      case 'badBatch':
        this.#clients.create(action, account, 2 + (size % 130), { badEntry: size % 2 });
        return;
      case 'rush':
        return this.#clients.rush(action, account);
      case 'duplicate': {
        const create = choose(
          creates.filter((one) => this.#clients.mayRepeat(one)),
          which,
        );
        if (create !== undefined) this.#clients.send(create);
        return;
      }
      case 'conflict': {
        const original = choose(
          creates.filter((one) => this.#clients.mayRepeat(one) && one.acknowledged !== undefined),
          which,
        );
        if (original !== undefined) {
          this.#clients.create(action, original.account, original.count, {
            conflictsWith: original,
          });
        }
        return;
      }
      case 'poll':
      case 'foreignPoll': {
        const job = choose(
          creates.filter(({ kind, acknowledged }) => kind === 'job' && acknowledged !== undefined),
          which,
        );
        const others = accounts.filter((other) => other !== job?.account);
        const asking = action.kind === 'poll' ? job?.account : choose(others, which);
        if (job !== undefined && asking !== undefined) this.#clients.poll(job, asking);
        return;
      }
      case 'lookup': {
        const created = choose(
          creates.filter(({ acknowledged }) => acknowledged !== undefined),
          which,
        );
        const asking = size % 8 === 0 ? account : created?.account;
        if (created !== undefined && asking !== undefined) this.#clients.lookUp(created, asking);
        return;
      }
      default:
        return this.#changeWorld(action, account);
    }
  }

  /** What happens beside requests: time, servers, keys, limits and the disk. */
  async #changeWorld(action: Action, account: Account): Promise<void> {
    const { which, size } = action;
    if (AFTER_FAILOVER.has(action.kind)) await this.#takeOver();
    switch (action.kind) {
      case 'failover':
        // Most of the time, everything comes as far as it can before.
        if (which % 4 > 0) await this.#scheduler.sleep(this.#owner, which % 30);
        return this.#failOver(size % 3 > 0);
      case 'correct': {
        const { creates } = this.ledger;
        const done = creates.filter(({ kind, acknowledged }) => kind !== 'job' && acknowledged);
        const created = choose(done, which);
        if (created !== undefined) void this.#links.correct(created, size);
        return;
      }
      case 'move':
        void this.#links.move(account, size);
        return;
      case 'follow':
        return this.#clients.follow(which);
      case 'wait':
        return this.#clients.untilIdle();
      case 'pass':
        return this.#passTime(action);
      case 'kill':
        return this.#kill(choose(this.#world.instances, which));
      case 'stop':
        return this.#stop(choose(this.#world.serving, which));
      case 'start':
        if (this.#fleet === undefined) await this.#world.start(0);
        return;
      case 'revoke':
        return this.#accounts.revoke(choose(account.keys, size), account, which % 2 === 0);
      case 'limits':
        return this.#accounts.changeLimits(account, this.#random);
      case 'faults':
        this.ledger.wasRough = true;
        this.#world.isFaulty = size % 2 === 0;
        this.#story.note(`the disk ${this.#world.isFaulty ? 'fails now and then' : 'works'}`);
        return;
    }
  }

  #kill(instance: Instance | undefined): void {
    if (instance === undefined) return;
    this.ledger.wasRough = true;
    this.#story.note(`${instance.name} is killed`);
    instance.kill();
  }

  /** Other actions come while it finishes what it does. */
  #stop(instance: Instance | undefined): void {
    if (instance === undefined) return;
    this.#story.note(`${instance.name} stops`);
    void instance.stop().then(() => this.#story.note(`${instance.name} has stopped`));
  }

  /** @param isUsual - see {@link Failover.next} */
  async #failOver(isUsual: boolean): Promise<void> {
    this.ledger.wasRough = true;
    const what = await this.#world.base.failover?.next(isUsual);
    if (what !== undefined) this.#story.note(what);
  }

  /** Ends a failover that has begun. */
  async #takeOver(): Promise<void> {
    while (this.#world.base.failover?.isUnderWay) await this.#failOver(true);
  }

  async #passTime({ which, size }: Action): Promise<void> {
    const { now } = this.#scheduler;
    const toEdge = (ms: number) => ms - (now % ms) + (size % 3) - 1;
    const ms =
      choose(
        [size % 5_000, toEdge(MINUTE_MS), toEdge(MINUTE_MS), toEdge(DAY_MS), 3_600_000],
        which,
      ) ?? 0;
    // A request that takes hours is no request of today's.
    if (ms > MINUTE_MS) await this.#clients.untilIdle();
    this.#scheduler.advance(ms);
    this.#story.note(`${ms} ms pass`);
  }

  /** Nothing fails any more and one server runs: requests end, jobs end, clicks are written. */
  async #comeToRest(): Promise<void> {
    await this.#takeOver();
    await this.#clients.untilIdle();
    await this.#links.untilIdle();
    this.#world.isFaulty = false;
    this.#story.note('the disk works');
    await this.#fleet?.comeToRest(this.#owner);
    if (this.#world.instances.every(({ isStopping }) => isStopping)) await this.#world.start(0);
    const until = this.#scheduler.elapsed + JOBS_END_MS;
    const pending = 'SELECT 1 FROM jobs WHERE completed_at IS NULL';
    while ((await this.#world.rows(pending)).length > 0 && this.#scheduler.elapsed < until) {
      await this.#scheduler.sleep(this.#owner, 1_000);
    }
    await this.#fleet?.scrape(true);
    await this.#fleet?.stop();
    await Promise.all(this.#world.instances.map((instance) => instance.stop()));
  }
}
