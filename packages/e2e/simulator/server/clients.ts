import type { Random } from '../kernel/random.ts';
import type { Owner, Scheduler } from '../kernel/scheduler.ts';
import { leadTo, linkOf, maySee, SEEN_MS } from './leads.ts';
import {
  type Account,
  type Attempt,
  type Create,
  type Key,
  type Ledger,
  targetOf,
} from './ledger.ts';
import { judgeAnswer } from './oracle.ts';
import { type Action, choose } from './plan.ts';
import type { Story } from './story.ts';
import { type Instance, PUBLIC_URL, type World } from './world.ts';

/** A client sends a create again under its idempotency key for this long; the service remembers the key for 24 h. */
const SAME_KEY_MS = 23 * 3_600_000;

/** What clients and visitors send, and what they are told. Each response is judged as soon as it is there. */
export class Clients {
  readonly #ledger: Ledger;
  readonly #world: World;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #owner: Owner;
  readonly #story: Story;
  /** Requests that have no response yet. */
  #open = 0;
  /** To which requests are sent. @default any that serves */
  #instance: Instance | undefined;

  constructor(world: World, story: Story, owner: Owner, random: Random) {
    this.#world = world;
    this.#scheduler = world.scheduler;
    this.#story = story;
    this.#ledger = story.ledger;
    this.#owner = owner;
    this.#random = random;
  }

  /** Whether a client may send it once more: the service knows its idempotency key for as long. */
  mayRepeat({ idempotencyKey, conflictsWith, attempts }: Create): boolean {
    const firstAt = attempts[0]?.sentAt;
    if (idempotencyKey === undefined || conflictsWith !== undefined || firstAt === undefined)
      return false;
    return this.#scheduler.elapsed - firstAt < SAME_KEY_MS;
  }

  /** A client asks for something that it wants to exist once. */
  create(
    { kind, isIdempotent }: Action,
    account: Account,
    count: number,
    special: Partial<Pick<Create, 'badEntry' | 'conflictsWith'>> = {},
  ): Create {
    const number = this.#ledger.creates.length + 1;
    const { conflictsWith } = special;
    // Accounts have the same keys, as those of clients that count.
    const ofAccount = this.#ledger.creates.filter((other) => other.account === account).length + 1;
    const create: Create = {
      number,
      account,
      kind: conflictsWith?.kind ?? (kind === 'link' ? 'link' : count > 100 ? 'job' : 'batch'),
      count,
      idempotencyKey:
        conflictsWith?.idempotencyKey ?? (isIdempotent ? `key-${ofAccount}` : undefined),
      badEntry: special.badEntry,
      conflictsWith,
      attempts: [],
      acknowledged: undefined,
      seen: 0,
    };
    this.#ledger.creates.push(create);
    this.send(create);
    return create;
  }

  /** A client asks for several links at once, and repeats each of them at another instance before it has a response, in another order. */
  rush(action: Action, account: Account): void {
    const links = { ...action, kind: 'link', isIdempotent: true } as const;
    if (this.#world.serving.length === 0) return;
    this.#instance = this.#random.pick(this.#world.serving);
    const creates = Array.from({ length: 4 + (action.size % 4) }, () =>
      this.create(links, account, 1),
    );
    this.#instance = this.#world.serving.find((other) => other !== this.#instance);
    for (const create of creates.toReversed()) this.send(create);
    this.#instance = undefined;
  }

  /** Sends a create, for the first time or once more. */
  send(create: Create): void {
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
    this.#request(request, words, create.account, 'create', create);
  }

  poll(job: Create, account: Account): void {
    const request = new Request(`${PUBLIC_URL}/api/v1/jobs/${job.acknowledged.job_id}`);
    const { seen } = job;
    this.#request(request, `poll of job ${job.number}`, account, 'poll', job, (attempt) => {
      const { processed } = attempt.answer?.json ?? {};
      // What is not yet acknowledged by a standby may be seen, and be lost with the database.
      if (attempt.answer?.status !== 200 || attempt.isLate) return;
      if (processed < seen)
        this.#story.report(`job ${job.number} went back from ${seen} to ${processed}`);
      job.seen = Math.max(job.seen, processed);
    });
  }

  /** Asks for links of a create that was acknowledged, and for one that nobody wanted. */
  lookUp(create: Create, account: Account): void {
    const targets = [targetOf(create, 0), targetOf(create, create.count - 1), PUBLIC_URL];
    const request = new Request(`${PUBLIC_URL}/api/v1/links/lookup`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ links: targets.map((target_url) => ({ target_url })) }),
    });
    const words = `look-up of ${create.kind} ${create.number}`;
    this.#request(request, words, account, 'lookup', create);
  }

  #request(
    request: Request,
    words: string,
    account: Account,
    what: Attempt['what'],
    create: Create,
    onAnswer: (attempt: Attempt) => void = () => undefined,
  ): void {
    const instances = this.#world.serving;
    const key = this.#random.pick<Key>(account.keys);
    if (instances.length === 0) return;
    const instance = this.#instance ?? this.#random.pick(instances);
    request.headers.set('X-Api-Key', key.key);
    const attempt: Attempt = {
      number: this.#ledger.attempts.length + 1,
      account,
      key,
      what,
      instance: instance.name,
      create,
      sentAt: this.#scheduler.elapsed,
      passedAt: this.#scheduler.passedAt,
      began: this.#ledger.events,
      ended: undefined,
      answer: undefined,
      isLate: false,
      witness: {},
    };
    this.#ledger.events += 1;
    this.#ledger.attempts.push(attempt);
    if (what === 'create') create.attempts.push(attempt);
    this.#story.note(`request ${attempt.number} of ${account.name} to ${instance.name}: ${words}`);
    this.#open += 1;
    void instance.request(request, attempt.witness).then((answer) => {
      this.#open -= 1;
      attempt.ended = this.#ledger.events;
      this.#ledger.events += 1;
      attempt.answer = answer;
      attempt.isLate = this.#world.mayBeLate(attempt.sentAt);
      const said = JSON.stringify(answer?.json?.error ?? '')
        .replace(/Request id.*/, '')
        .slice(0, 90);
      this.#story.note(
        `request ${attempt.number}: ${answer === undefined ? 'connection lost' : `${answer.status} ${said}`}`,
      );
      this.#story.report(judgeAnswer(this.#ledger, attempt));
      onAnswer(attempt);
    });
  }

  /** Follows a link that was acknowledged, or an old address of one that moves in. */
  follow(which: number): void {
    const { creates, leads } = this.#ledger;
    const created = choose(
      creates.filter(({ kind, acknowledged }) => kind !== 'job' && acknowledged),
      which,
    );
    const instance = choose(this.#world.serving, which);
    const isMoved = (path: string) => leads.get(path)?.[0]?.target === undefined;
    const moved = choose([...leads.keys()].filter(isMoved), which);
    if (instance === undefined) return;
    if (moved !== undefined && (which % 3 === 0 || created === undefined)) {
      this.visit(instance, moved, undefined);
    } else if (created !== undefined) {
      const { code, target } = linkOf(created, which);
      this.visit(instance, code, target);
    }
  }

  /** Visitors of every instance follow a link, so that each of them has to know where it leads. */
  visitAll(path: string, target: string | undefined): void {
    const running = this.#world.serving;
    for (const instance of running) this.visit(instance, path, target);
  }

  /** @param target - where the link leads, as long as it is not corrected, or has not moved in */
  visit(instance: Instance, path: string, target: string | undefined): void {
    const clicks = this.#ledger.clicks.get(path) ?? { sent: 0, answered: 0 };
    // Those of an old address are counted under the code of its link.
    if (target !== undefined) this.#ledger.clicks.set(path, clicks);
    clicks.sent += 1;
    this.#open += 1;
    const sentAt = this.#scheduler.steady;
    const begun = this.#scheduler.elapsed;
    this.#story.note(`a visitor follows ${path} at ${instance.name}`);
    void instance.request(new Request(`${PUBLIC_URL}/${path}`), {}).then((answer) => {
      this.#open -= 1;
      if (answer === undefined) return;
      if (answer.status === 503 && this.#world.mayBeLate(begun)) return;
      clicks.answered += 1;
      const leads = this.#ledger.leads.get(path) ?? [leadTo(target)];
      const found = answer.headers.get('location') ?? undefined;
      const isRight = answer.status === (found === undefined ? 404 : 302);
      // A database that takes long is not waited for where the link is in memory.
      const wasSlow = this.#scheduler.leaptAt > begun - SEEN_MS;
      if (!isRight || !maySee(leads, found, wasSlow ? Number.NEGATIVE_INFINITY : sentAt)) {
        this.#story.report(`${path} is ${answer.status} and leads to ${found}`);
      }
    });
  }

  /** Waits until every request has its response. */
  async untilIdle(): Promise<void> {
    while (this.#open > 0) await this.#scheduler.sleep(this.#owner, 20);
  }
}
