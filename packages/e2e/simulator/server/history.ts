import {
  type Account,
  type Attempt,
  type Create,
  type Key,
  type Ledger,
  targetOf,
} from './ledger.ts';
import type { Server } from './load-server.ts';
import { judgeAnswer, judgeEnd, judgeState } from './oracle.ts';
import { type Action, makeLimits, makePlan, type Plan } from './plan.ts';
import { Random } from './random.ts';
import { type Owner, Scheduler } from './scheduler.ts';
import { PUBLIC_URL, World } from './world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A client sends a create again under its idempotency key for this long; the service remembers the key for 24 h. */
const SAME_KEY_MS = 23 * 3_600_000;

/** How long a job may take once nothing fails any more: a failed one is tried again after 30 s at most. */
const JOBS_END_MS = 60_000;

/** What a history came to. */
export interface Outcome {
  /** What should never be; `undefined` when all was well. */
  violation: string | undefined;
  requests: number;
  trace: string[];
  /** How many actions its plan has. */
  actions: number;
}

/**
 * Plays the history of a seed: the same seed, the same history.
 *
 * @param keep - which actions of the plan are carried out; all of them by default
 */
export async function playHistory(
  server: Server,
  seed: number,
  keep?: ReadonlySet<number>,
): Promise<Outcome> {
  const plan = makePlan(new Random(seed));
  const history = new History(server, plan, new Random(seed ^ 0x5bd1e995));
  const actions = plan.actions.filter((_, index) => keep === undefined || keep.has(index));
  const violation = await history.play(actions);
  const { ledger } = history;
  return {
    violation,
    requests: ledger.attempts.length,
    trace: ledger.trace,
    actions: plan.actions.length,
  };
}

class History {
  readonly ledger: Ledger = {
    accounts: [],
    creates: [],
    attempts: [],
    clicks: new Map(),
    wasRough: false,
    events: 0,
    violations: [],
    trace: [],
  };
  readonly #plan: Plan;
  readonly #random: Random;
  readonly #world: World;
  readonly #scheduler: Scheduler;
  readonly #clients: Owner = { name: 'clients', alive: true };
  /** Requests that have no response yet. */
  #open = 0;

  constructor(server: Server, plan: Plan, random: Random) {
    this.#plan = plan;
    this.#random = random;
    this.#scheduler = new Scheduler(plan.startsAt, random);
    this.#world = new World(server, this.#scheduler, random);
    this.#world.onCommit = () => this.#report(judgeState(this.#world, this.ledger));
  }

  async play(actions: readonly Action[]): Promise<string | undefined> {
    let isOver = false;
    const story = this.#scheduler.run(this.#clients, () => this.#tell(actions));
    story.then(
      () => {
        isOver = true;
      },
      (error: unknown) => {
        isOver = true;
        this.#report(error instanceof Error ? (error.stack ?? error.message) : String(error));
      },
    );
    try {
      await this.#scheduler.drive(() => isOver || this.ledger.violations.length > 0);
    } catch (error) {
      this.#report(String(error));
    }
    this.#world.close();
    return this.ledger.violations[0];
  }

  async #tell(actions: readonly Action[]): Promise<void> {
    for (const { limits, keys } of this.#plan.accounts) await this.#addAccount(limits, keys);
    for (const skewMs of this.#plan.skews) await this.#world.start(skewMs);
    this.#world.isFaulty = this.#plan.isFaulty;
    this.ledger.wasRough = this.#plan.isFaulty;
    for (const action of actions) {
      await this.#scheduler.pause(this.#clients);
      await this.#carryOut(action);
    }
    await this.#comeToRest();
    this.#report(await judgeEnd(this.#world, this.ledger));
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
    this.#note(`${name} with ${keys} keys: ${JSON.stringify(made.limits)}`);
  }

  async #carryOut(action: Action): Promise<void> {
    const { which, size } = action;
    const { accounts, creates } = this.ledger;
    const account = choose(accounts, which);
    if (account === undefined) return;
    switch (action.kind) {
      case 'link':
        return this.#create(action, account, 1);
      case 'batch':
        return this.#create(action, account, 2 + (size % 5));
      case 'job':
        return this.#create(action, account, 101 + (size % 60));
      case 'badBatch':
        return this.#create(action, account, 2 + (size % 130), { badEntry: size % 2 });
      case 'duplicate': {
        const create = choose(
          creates.filter((one) => this.#mayRepeat(one)),
          which,
        );
        if (create !== undefined) this.#attempt(create);
        return;
      }
      case 'conflict': {
        const original = choose(
          creates.filter((one) => this.#mayRepeat(one) && one.acknowledged !== undefined),
          which,
        );
        if (original !== undefined) {
          this.#create(action, original.account, original.count, { conflictsWith: original });
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
        if (job !== undefined && asking !== undefined) this.#poll(job, asking);
        return;
      }
      case 'follow':
        return this.#follow(which);
      case 'wait':
        return this.#untilIdle();
      case 'pass':
        return this.#passTime(action);
      case 'kill': {
        const instance = choose(this.#world.instances, which);
        if (instance === undefined) return;
        this.ledger.wasRough = true;
        this.#note(`${instance.name} is killed`);
        instance.kill();
        return;
      }
      case 'stop': {
        const instance = choose(
          this.#world.instances.filter(({ isStopping }) => !isStopping),
          which,
        );
        if (instance === undefined) return;
        this.#note(`${instance.name} stops`);
        void instance.stop().then(() => this.#note(`${instance.name} has stopped`));
        return;
      }
      case 'start':
        this.#note('another server starts');
        return this.#world.start(0);
      case 'revoke':
        return this.#revoke(choose(account.keys, size), account);
      case 'limits':
        return this.#changeLimits(account);
      case 'faults':
        this.ledger.wasRough = true;
        this.#world.isFaulty = size % 2 === 0;
        this.#note(`the disk ${this.#world.isFaulty ? 'fails now and then' : 'works'}`);
        return;
    }
  }

  #create(
    { kind, isIdempotent }: Action,
    account: Account,
    count: number,
    special: Partial<Pick<Create, 'badEntry' | 'conflictsWith'>> = {},
  ): void {
    const number = this.ledger.creates.length + 1;
    const { conflictsWith } = special;
    const create: Create = {
      number,
      account,
      kind: conflictsWith?.kind ?? (kind === 'link' ? 'link' : count > 100 ? 'job' : 'batch'),
      count,
      idempotencyKey: conflictsWith?.idempotencyKey ?? (isIdempotent ? `key-${number}` : undefined),
      badEntry: special.badEntry,
      conflictsWith,
      attempts: [],
      acknowledged: undefined,
      seen: 0,
    };
    this.ledger.creates.push(create);
    this.#attempt(create);
  }

  /** Whether a client may send it once more: the service knows its idempotency key for as long. */
  #mayRepeat({ idempotencyKey, conflictsWith, attempts }: Create): boolean {
    const firstAt = attempts[0]?.sentAt;
    if (idempotencyKey === undefined || conflictsWith !== undefined || firstAt === undefined)
      return false;
    return this.#scheduler.elapsed - firstAt < SAME_KEY_MS;
  }

  #attempt(create: Create): void {
    const { number, kind, count, badEntry, idempotencyKey } = create;
    const links = Array.from({ length: count }, (_, index) => ({
      target_url: index === badEntry ? 'no URL' : targetOf(create, index),
    }));
    const request = new Request(`${PUBLIC_URL}/api/v1/links${kind === 'link' ? '' : '/batch'}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
      },
      body: JSON.stringify(kind === 'link' ? links[0] : { links }),
    });
    const words = `${kind} ${number} of ${count}${idempotencyKey ? ` under ${idempotencyKey}` : ''}`;
    this.#send(request, words, create.account, 'create', create);
  }

  #poll(job: Create, account: Account): void {
    const request = new Request(`${PUBLIC_URL}/api/v1/jobs/${job.acknowledged.job_id}`);
    const { seen } = job;
    this.#send(request, `poll of job ${job.number}`, account, 'poll', job, (attempt) => {
      const { processed } = attempt.answer?.json ?? {};
      if (attempt.answer?.status !== 200) return;
      if (processed < seen)
        this.#report(`job ${job.number} went back from ${seen} to ${processed}`);
      job.seen = Math.max(job.seen, processed);
    });
  }

  #send(
    request: Request,
    words: string,
    account: Account,
    what: Attempt['what'],
    create: Create,
    onAnswer: (attempt: Attempt) => void = () => undefined,
  ): void {
    const instances = this.#world.instances.filter(({ isStopping }) => !isStopping);
    const key = this.#random.pick<Key>(account.keys);
    if (instances.length === 0) return;
    const instance = this.#random.pick(instances);
    request.headers.set('X-Api-Key', key.key);
    const attempt: Attempt = {
      number: this.ledger.attempts.length + 1,
      account,
      key,
      what,
      create,
      sentAt: this.#scheduler.elapsed,
      began: this.ledger.events,
      ended: undefined,
      answer: undefined,
      witness: {},
    };
    this.ledger.events += 1;
    this.ledger.attempts.push(attempt);
    if (what === 'create') create.attempts.push(attempt);
    this.#note(`request ${attempt.number} of ${account.name} to ${instance.name}: ${words}`);
    this.#open += 1;
    void instance.request(request, attempt.witness).then((answer) => {
      this.#open -= 1;
      attempt.ended = this.ledger.events;
      this.ledger.events += 1;
      attempt.answer = answer;
      const said = JSON.stringify(answer?.json?.error ?? '')
        .replace(/Request id.*/, '')
        .slice(0, 90);
      this.#note(
        `request ${attempt.number}: ${answer === undefined ? 'connection lost' : `${answer.status} ${said}`}`,
      );
      this.#report(judgeAnswer(this.ledger, attempt));
      onAnswer(attempt);
    });
  }

  /** Follows a link that was acknowledged. */
  #follow(which: number): void {
    const created = choose(
      this.ledger.creates.filter(({ kind, acknowledged }) => kind !== 'job' && acknowledged),
      which,
    );
    const instance = choose(
      this.#world.instances.filter(({ isStopping }) => !isStopping),
      which,
    );
    if (created === undefined || instance === undefined) return;
    const items = created.kind === 'link' ? [created.acknowledged] : created.acknowledged.results;
    const index = which % items.length;
    const { code } = items[index];
    const clicks = this.ledger.clicks.get(code) ?? { sent: 0, answered: 0 };
    this.ledger.clicks.set(code, clicks);
    clicks.sent += 1;
    this.#open += 1;
    this.#note(`a visitor follows ${code} at ${instance.name}`);
    void instance.request(new Request(`${PUBLIC_URL}/${code}`), {}).then((answer) => {
      this.#open -= 1;
      if (answer === undefined) return;
      clicks.answered += 1;
      if (answer.status !== 302 || answer.headers.get('location') !== targetOf(created, index)) {
        this.#report(`${code} of create ${created.number} is ${answer.status}`);
      }
    });
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
    if (ms > MINUTE_MS) await this.#untilIdle();
    this.#scheduler.advance(ms);
    this.#note(`${ms} ms pass`);
  }

  async #revoke(key: Key | undefined, account: Account): Promise<void> {
    if (key === undefined || account.keys.length < 2 || key.revoked !== undefined) return;
    key.revoked = { doneAt: Number.POSITIVE_INFINITY };
    this.#note(`a key of ${account.name} is revoked`);
    await this.#world.operate((store) => store.revokeKey(key.id, this.#scheduler.now));
    key.revoked.doneAt = this.#scheduler.elapsed;
  }

  async #changeLimits(account: Account): Promise<void> {
    const change = { limits: makeLimits(this.#random) };
    const before = account.limits.at(-1);
    if (before === undefined) return;
    account.limits.push({ ...before, ...change.limits });
    this.#note(`limits of ${account.name} become ${JSON.stringify(change.limits)}`);
    await this.#world.operate((store) => store.updateAccount({ id: account.id, change }));
  }

  async #untilIdle(): Promise<void> {
    while (this.#open > 0) await this.#scheduler.sleep(this.#clients, 20);
  }

  /** Nothing fails any more and one server runs: requests end, jobs end, clicks are written. */
  async #comeToRest(): Promise<void> {
    await this.#untilIdle();
    this.#world.isFaulty = false;
    this.#note('the disk works');
    if (this.#world.instances.every(({ isStopping }) => isStopping)) await this.#world.start(0);
    const until = this.#scheduler.elapsed + JOBS_END_MS;
    const pending = () => this.#world.rows('SELECT 1 FROM jobs WHERE completed_at IS NULL').length;
    while (pending() > 0 && this.#scheduler.elapsed < until) {
      await this.#scheduler.sleep(this.#clients, 1_000);
    }
    await Promise.all(this.#world.instances.map((instance) => instance.stop()));
  }

  #note(what: string): void {
    const time = new Date(this.#scheduler.now).toISOString();
    this.ledger.trace.push(`${time}  ${what}`);
  }

  #report(violation: string | undefined): void {
    if (violation === undefined) return;
    this.ledger.violations.push(violation);
    this.#note(`VIOLATION: ${violation}`);
  }
}

function choose<T>(items: readonly T[], which: number): T | undefined {
  return items.length === 0 ? undefined : items[which % items.length];
}
