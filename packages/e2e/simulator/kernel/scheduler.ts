import { AsyncLocalStorage } from 'node:async_hooks';
import type { Random } from './random.ts';

/** Whose work a step is. What belongs to a dead owner never happens. */
export interface Owner {
  name: string;
  isAlive: boolean;
}

/** Something that happens at one moment, with all that its promises set off. */
export interface Step {
  readonly owner: Owner;
  readonly run: () => void;
  /** In milliseconds since the start. */
  readonly at: number;
}

interface Scope {
  scheduler: Scheduler;
  owner: Owner;
}

/** Work that is done outside of the simulation, such as a statement of a database. Virtual time stands still meanwhile. */
export interface RealWork {
  /** Whether some of it may end without another step. */
  readonly isBusy: boolean;
  /** Resolves when some of it has ended, or all of it waits for another step. */
  change(): Promise<void>;
}

export interface SchedulerOptions {
  /** The wall clock at the start, in milliseconds since the epoch. */
  start: number;
  /** Picks the next step. */
  random: Random;
  /** How often time passes although something could be done, and how much of it at most. */
  leaps: { share: number; mostMs: number };
  /** Steps after which {@link Scheduler.drive} gives up. */
  mostSteps: number;
}

const LEAP_MS = 250;

const scopes = new AsyncLocalStorage<Scope>();

const { setImmediate } = globalThis;

/**
 * Virtual time, in whole milliseconds, and the order of everything that happens at the same time. Of all steps that could be next, the
 * random numbers pick one; time passes when there is nothing else to do, and where it leaps, now and then before. All that a promise sets
 * off happens before the next step, so that nothing can come between two steps of a program.
 */
export class Scheduler {
  /** The wall clock, in milliseconds since the epoch. */
  now: number;
  /** Milliseconds since the start; never goes back. */
  elapsed = 0;
  /** The same, but of time that passes at once, only the first {@link LEAP_MS} count: timers have had their turn in it. */
  steady = 0;
  /** When time last passed although something was to be done, in `elapsed`. What waits then may wait for too long. */
  leaptAt = Number.NEGATIVE_INFINITY;
  /** The same of any leap, however short. */
  passedAt = Number.NEGATIVE_INFINITY;
  /** Number of the step that happens now. */
  turn = 0;
  /** @default nothing is done outside */
  work: RealWork | undefined;
  /** How much is under way that may use real files. Time stands still while one of them is waited for. */
  filesUsed = 0;
  readonly #random: Random;
  readonly #leaps: SchedulerOptions['leaps'];
  readonly #mostSteps: number;
  /** Steps whose time has come. */
  #ready: Step[] = [];
  readonly #waiting = new Set<Step>();

  constructor({ start, random, leaps, mostSteps }: SchedulerOptions) {
    this.now = start;
    this.#random = random;
    this.#leaps = leaps;
    this.#mostSteps = mostSteps;
  }

  /** A number from 0 to below 1. */
  random(): number {
    return this.#random.next();
  }

  /** Calls a function as this owner; what it starts belongs to the owner too. */
  run<T>(owner: Owner, work: () => T): T {
    return scopes.run({ scheduler: this, owner }, work);
  }

  /** Lets the owner do something so many milliseconds later, or when its turn comes after 0. Never, when the owner dies before. */
  after(ms: number, owner: Owner, run: () => void): Step {
    const step = { owner, run, at: this.elapsed + Math.max(0, Math.ceil(ms)) };
    if (step.at <= this.elapsed) this.#ready.push(step);
    else this.#waiting.add(step);
    return step;
  }

  cancel(step: Step): void {
    if (this.#waiting.delete(step)) return;
    const index = this.#ready.indexOf(step);
    if (index >= 0) this.#ready.splice(index, 1);
  }

  /** Ends when the owner's turn comes. Never, when the owner dies before. */
  pause(owner: Owner): Promise<void> {
    return this.sleep(owner, 0);
  }

  /** Sleeps on virtual time. */
  sleep(owner: Owner, ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, owner, resolve));
  }

  /** Lets time pass at once, as a machine that was suspended sees it: each due timer runs once. */
  advance(ms: number): void {
    this.now += ms;
    this.elapsed += ms;
    this.steady += Math.min(ms, LEAP_MS);
    if (this.#ready.length > 0) {
      this.passedAt = this.elapsed;
      if (ms > LEAP_MS) this.leaptAt = this.elapsed;
    }
    for (const step of this.#waiting) {
      if (step.at > this.elapsed) continue;
      this.#waiting.delete(step);
      this.#ready.push(step);
    }
  }

  /** Takes steps until this is true. Rejects when nothing is left that could make it true, or after too many steps. */
  async drive(isDone: () => boolean): Promise<void> {
    for (let steps = 0; steps < this.#mostSteps; steps += 1) {
      await settled();
      while (this.work?.isBusy || this.#isDiskBusy) {
        if (!this.#isDiskBusy) await this.work?.change();
        await settled();
      }
      if (isDone()) return;
      this.#takeStep();
    }
    throw new Error(`still not done after ${this.#mostSteps} steps`);
  }

  #takeStep(): void {
    this.#ready = this.#ready.filter(({ owner }) => owner.isAlive);
    const { share, mostMs } = this.#leaps;
    while (this.#ready.length === 0) {
      if (!this.#passTime(Number.MAX_VALUE)) throw new Error('nothing is left to do');
    }
    while (this.#random.chance(share)) this.#passTime(mostMs);
    const [step] = this.#ready.splice(this.#random.below(this.#ready.length), 1);
    if (step === undefined) return;
    this.turn += 1;
    this.run(step.owner, step.run);
  }

  get #isDiskBusy(): boolean {
    if (this.filesUsed === 0) return false;
    return process.getActiveResourcesInfo().some((name) => /^(?:FSReq|CloseReq)/.test(name));
  }

  /** To the next step that waits for its time; `false` where none comes within so long. */
  #passTime(mostMs: number): boolean {
    let next = Number.POSITIVE_INFINITY;
    for (const step of this.#waiting) {
      if (step.owner.isAlive) next = Math.min(next, step.at);
      else this.#waiting.delete(step);
    }
    if (next - this.elapsed > mostMs) return false;
    this.advance(next - this.elapsed);
    return true;
  }
}

/** The scheduler whose step happens now, and whose work that is; undefined outside of all simulations. */
export function scopeNow(): Scope | undefined {
  return scopes.getStore();
}

/** Calls a function that sees the real clock and sets real timers. */
export function outside<T>(work: () => T): T {
  return scopes.exit(work);
}

/** Resolves when every promise that could go on has done so. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
