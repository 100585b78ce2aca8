import { Random } from '../kernel/random.ts';
import type { Played } from '../kernel/simulation.ts';
import { type MakeBase, newBase } from './base.ts';
import { Clients } from './clients.ts';
import { Fleet } from './fleet.ts';
import type { Account, Key } from './ledger.ts';
import type { Server } from './load-server.ts';
import { Operator } from './operator.ts';
import { judgeEnd, judgeState } from './oracle.ts';
import { type Action, choose, makeLimits, makePlan, type Plan } from './plan.ts';
import { type Owner, Scheduler } from './scheduler.ts';
import { Story } from './story.ts';
import { type Instance, World } from './world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** How long a job may take once nothing fails any more: a failed one is tried again after 30 s at most. */
const JOBS_END_MS = 60_000;

/** The history of a seed, and the numbers of the actions of its plan that are carried out. */
export interface Chosen {
  seed: number;
  keep: readonly number[];
}

/** @param keep - all of them by default */
export function chosenOf(seed: number, keep?: readonly number[]): Chosen {
  return { seed, keep: keep ?? [...makePlan(new Random(seed)).actions.keys()] };
}

/** Plays a history: the same seed, the same history. */
export async function playHistory(server: Server, { seed, keep }: Chosen): Promise<Played> {
  const plan = makePlan(new Random(seed));
  const random = new Random(seed, 1);
  const history = new History(server, plan, random, await newBase(server, random));
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
  readonly #owner: Owner = { name: 'clients', alive: true };
  readonly #story: Story;
  readonly #clients: Clients;
  readonly #links: Operator;
  readonly #fleet: Fleet | undefined;

  constructor(server: Server, plan: Plan, random: Random, makeBase: MakeBase) {
    this.#plan = plan;
    this.#random = random;
    this.#scheduler = new Scheduler(plan.startsAt, random);
    this.#world = new World(server, this.#scheduler, random, makeBase);
    this.#story = new Story(this.#scheduler, this.#world.base.readsFail);
    this.#clients = new Clients(this.#world, this.#story, this.#owner, random);
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
    for (const { limits, keys } of this.#plan.accounts) await this.#addAccount(limits, keys);
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
  }

  async #addAccount(limits: Partial<Account['limits'][0]>, keys: number): Promise<void> {
    const { now } = this.#scheduler;
    const name = `account ${this.ledger.accounts.length + 1}`;
    const made = await this.#world.operate((store, { createAccount }) =>
      createAccount(store, { name, plan: 'custom', limits, now }),
    );
    const account: Account = { name, id: made.id, keys: [], limits: [made.limits] };
    for (let held = 0; held < keys; held += 1) {
      const input = {
        accountId: made.id,
        name: 'key',
        permissions: ['shortlinks:write'] as const,
        now,
      };
      const key = await this.#world.operate((store, { createKey }) => createKey(store, input));
      account.keys.push({ id: key.id, key: key.key, revoked: undefined });
    }
    this.ledger.accounts.push(account);
    this.#story.note(`${name} with ${keys} keys: ${JSON.stringify(made.limits)}`);
  }

  async #carryOut(action: Action): Promise<void> {
    const { which, size } = action;
    const { accounts, creates } = this.ledger;
    const account = choose(accounts, which);
    if (account === undefined) return;
    if (size % 8 === 0) void this.#fleet?.scrape();
    switch (action.kind) {
      case 'link':
        return this.#clients.create(action, account, 1);
      case 'batch':
        return this.#clients.create(action, account, 2 + (size % 5));
      case 'job':
        return this.#clients.create(action, account, 101 + (size % 60));
      case 'badBatch':
        return this.#clients.create(action, account, 2 + (size % 130), { badEntry: size % 2 });
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
    switch (action.kind) {
      case 'unnumber':
        // No link loses its number while a look-up reads.
        if (
          this.ledger.attempts.some(({ what, ended }) => what === 'lookup' && ended === undefined)
        )
          return;
        this.#story.note('all links are as a server of the version before creates them');
        return this.#world.base.unnumberLinks();
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
        return this.#revoke(choose(account.keys, size), account);
      case 'limits':
        return this.#changeLimits(account);
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

  async #revoke(key: Key | undefined, account: Account): Promise<void> {
    if (key === undefined || account.keys.length < 2 || key.revoked !== undefined) return;
    key.revoked = { doneAt: Number.POSITIVE_INFINITY };
    this.#story.note(`a key of ${account.name} is revoked`);
    await this.#world.operate((store) => store.revokeKey(key.id, this.#scheduler.now));
    key.revoked.doneAt = this.#scheduler.elapsed;
  }

  async #changeLimits(account: Account): Promise<void> {
    const change = { limits: makeLimits(this.#random) };
    const before = account.limits.at(-1);
    if (before === undefined) return;
    account.limits.push({ ...before, ...change.limits });
    this.#story.note(`limits of ${account.name} become ${JSON.stringify(change.limits)}`);
    await this.#world.operate((store) => store.updateAccount({ id: account.id, change }));
  }

  /** Nothing fails any more and one server runs: requests end, jobs end, clicks are written. */
  async #comeToRest(): Promise<void> {
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
