import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import type { Random } from '../kernel/random.ts';
import type { Owner, Scheduler } from '../kernel/scheduler.ts';
import type { Server } from './load-server.ts';
import type { Story } from './story.ts';
import type { Instance, World } from './world.ts';

/** All workers serve again this long after the last one has ended: a start is put off by 10 s at most. */
const REPLACED_MS = 12_000;

/** How often a worker that ends again and again may be started within so long: the waits between its starts double. */
const MOST_STARTS = { starts: 10, withinMs: 25_000 } as const;

/** How long metrics wait for a worker, in milliseconds. */
const METRICS_MS = 1_000;

/** One end of the channel between two processes. Messages arrive in order, each in a step of whoever receives it. */
class ChannelEnd extends EventEmitter {
  readonly owner: Owner;
  readonly #scheduler: Scheduler;
  #other: ChannelEnd = this;
  #sent: Promise<unknown> = Promise.resolve();

  constructor(owner: Owner, scheduler: Scheduler) {
    super();
    this.owner = owner;
    this.#scheduler = scheduler;
  }

  join(other: ChannelEnd): void {
    this.#other = other;
    other.#other = this;
  }

  send(message: unknown): boolean {
    const { owner } = this.#other;
    this.#sent = this.#sent
      .then(() => this.#scheduler.pause(owner))
      .then(() => this.#scheduler.run(owner, () => this.#other.emit('message', message)));
    return true;
  }
}

/** The instances of one machine, which a first process starts, replaces and stops, as with `--workers`. */
export class Fleet {
  /** How often a worker ends while it starts. */
  failingStarts: number;
  readonly #owner: Owner = { name: 'the first process', isAlive: true };
  readonly #size: number;
  readonly #world: World;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #server: Server;
  readonly #story: Story;
  readonly #workers: InstanceType<Server['Workers']>;
  readonly #metrics = new Map<Owner, { text: () => Promise<string> }>();
  /** When each worker was started, by its number, in steady time. */
  readonly #starts = new Map<number, number[]>();
  /** Numbers of the workers that run. */
  readonly #running = new Set<number>();
  #isServing = false;
  #isStopped = false;
  /** The most requests that metrics have shown. */
  #shown = 0;

  constructor(server: Server, world: World, story: Story, random: Random, size: number) {
    this.#server = server;
    this.#world = world;
    this.#scheduler = world.scheduler;
    this.#story = story;
    this.#random = random;
    this.#size = size;
    this.failingStarts = random.pick([0, 0.2, 0.9]);
    const error = () => undefined;
    const fork = (number: number) => this.#fork(number) as unknown as Worker;
    const logger = { error } as never;
    this.#workers = this.#run(() => new server.Workers(size, { logger, fork, writeLog: error }));
  }

  async start(): Promise<void> {
    await this.#run(() => this.#workers.start());
    this.#isServing = true;
  }

  /** Waits until all of them serve. Nothing fails any more. */
  async comeToRest(owner: Owner): Promise<void> {
    this.failingStarts = 0;
    const until = this.#scheduler.steady + REPLACED_MS;
    const serving = () => this.#world.serving.length;
    while (serving() < this.#size && this.#scheduler.steady < until) {
      await this.#scheduler.sleep(owner, 100);
    }
    if (serving() !== this.#size)
      this.#story.report(`${serving()} of ${this.#size} workers serve at the end`);
  }

  /** The operator stops the server: all of them end what they do, and none is started any more. */
  async stop(): Promise<void> {
    if (this.#random.chance(0.3)) {
      await this.#random.pick(this.#world.serving).stop();
      await this.#scheduler.sleep(this.#owner, this.#random.between(1, 150));
    }
    await this.#run(() => this.#workers.stop());
    this.#isStopped = true;
    if (this.#running.size > 0) this.#story.report('the server has stopped, and a worker runs');
    await this.#scheduler.sleep(this.#owner, REPLACED_MS);
  }

  /** Somebody reads the metrics of one worker, which are those of all. */
  async scrape(isAtRest = false): Promise<void> {
    const { serving } = this.#world;
    if (serving.length === 0) return;
    const instance = this.#random.pick(serving);
    const least = this.#shown;
    const startedAt = this.#scheduler.elapsed;
    const text = await this.#scheduler.run(instance, () => this.#metrics.get(instance)?.text());
    const lines = text?.matchAll(/^shortlink_http_requests_total\{.*\} (\d+)$/gm) ?? [];
    const shown = [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
    this.#shown = Math.max(this.#shown, shown);
    // Of workers that take longer, metrics show what they told last.
    const isWhole = this.#scheduler.elapsed - startedAt < METRICS_MS;
    if (isAtRest && !isWhole) return this.scrape(true);
    this.#story.note(`the metrics of ${instance.name} show ${shown} requests`);
    const most = this.#world.sent;
    const all = isAtRest ? Math.max(least, sumOf(serving)) : least;
    if (shown < all || shown > most)
      this.#story.report(`metrics show ${shown} requests of ${all} to ${most}`);
  }

  #run<T>(work: () => T): T {
    return this.#scheduler.run(this.#owner, work);
  }

  #fork(number: number): ChannelEnd {
    const owner = this.#world.newProcess();
    const ends = {
      first: new ChannelEnd(this.#owner, this.#scheduler),
      worker: new ChannelEnd(owner, this.#scheduler),
    };
    ends.first.join(ends.worker);
    this.#judgeStart(number);
    this.#story.note(`worker ${number} starts as ${owner.name}`);
    const process = new EventEmitter();
    const onEnd = () => {
      this.#running.delete(number);
      this.#scheduler.after(0, this.#owner, () => {
        ends.first.emit('exit', 1, null);
        process.emit('close');
      });
    };
    void this.#scheduler.run(owner, () => this.#serve(owner, ends.worker, onEnd));
    return Object.assign(ends.first, {
      process: Object.assign(process, { stdout: null, stderr: null }),
    });
  }

  /** What a worker does from its start to its end. */
  async #serve(owner: Owner, channel: ChannelEnd, onEnd: () => void): Promise<void> {
    const metrics = new this.#server.SharedMetrics(channel as never);
    this.#metrics.set(owner, metrics);
    const isStopped = new Promise<void>((resolve) => {
      channel.on('message', ({ type }) => type === 'stop' && resolve());
    });
    await this.#scheduler.pause(owner);
    if (this.#isServing && this.#random.chance(this.failingStarts)) {
      this.#story.note(`${owner.name} ends while it starts`);
      owner.isAlive = false;
      onEnd();
      return;
    }
    const instance = await this.#world.start(0, { owner, metrics, onEnd });
    if (!instance.isAlive) return;
    channel.send({ type: 'serving' });
    await isStopped;
    await instance.stop();
  }

  #judgeStart(number: number): void {
    const { steady } = this.#scheduler;
    const starts = this.#starts.get(number) ?? [];
    this.#starts.set(number, starts);
    starts.push(steady);
    const recent = starts.filter((at) => steady - at < MOST_STARTS.withinMs);
    if (this.#isStopped) this.#story.report(`worker ${number} starts after the end`);
    if (this.#running.has(number)) this.#story.report(`worker ${number} runs twice`);
    if (recent.length > MOST_STARTS.starts)
      this.#story.report(`worker ${number} is started ${recent.length} times within 25 s`);
    this.#running.add(number);
  }
}

function sumOf(instances: readonly Instance[]): number {
  return instances.reduce((sum, { answered }) => sum + answered, 0);
}
