import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import type { Random } from '../kernel/random.ts';

/** Whose work a step or a timer is. What belongs to a dead owner never happens. */
export interface Owner {
  name: string;
  alive: boolean;
}

interface Step {
  owner: Owner;
  run: () => void;
}

interface Timer extends Step {
  /** On the clock that never goes back. */
  at: number;
  /** Milliseconds between two runs; `undefined` for one run only. */
  everyMs: number | undefined;
  unref: () => Timer;
  ref: () => Timer;
  refresh: () => Timer;
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

/** Steps without a result after which a history counts as stuck. */
const MAX_STEPS = 20_000;

const LEAP_MS = 250;

const scopes = new AsyncLocalStorage<Scope>();
const real = {
  setImmediate: globalThis.setImmediate,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  dateNow: Date.now,
  performanceNow: performance.now.bind(performance),
  random: Math.random,
};

/**
 * Virtual time, and the order of everything that happens at the same time. Code that runs inside {@link Scheduler.run} sees the
 * virtual clock and sets virtual timers through the ordinary functions of Node. Of all steps that could be next, the random
 * numbers pick one; time passes when there is nothing else to do, and now and then before.
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
  /** @default nothing is done outside */
  work: RealWork | undefined;
  /** How much is under way that may use real files. Time stands still while one of them is waited for. */
  filesUsed = 0;
  readonly #random: Random;
  readonly #steps: Step[] = [];
  readonly #timers = new Set<Timer>();

  constructor(start: number, random: Random) {
    this.now = start;
    this.#random = random;
    installVirtualTime();
  }

  /** A number from 0 to below 1. */
  random(): number {
    return this.#random.next();
  }

  /** Calls a function as this owner; what it starts belongs to the owner too. */
  run<T>(owner: Owner, work: () => T): T {
    return scopes.run({ scheduler: this, owner }, work);
  }

  /** Ends when the owner's turn comes. Never, when the owner dies before. */
  pause(owner: Owner): Promise<void> {
    return new Promise((resolve) => this.addStep(owner, resolve));
  }

  addStep(owner: Owner, run: () => void): void {
    if (owner.alive) this.#steps.push({ owner, run });
  }

  addTimer(owner: Owner, run: () => void, ms: number, repeats: boolean): Timer {
    const afterMs = Math.max(1, Math.floor(ms));
    const timer: Timer = {
      owner,
      run,
      at: this.elapsed + afterMs,
      everyMs: repeats ? afterMs : undefined,
      unref: () => timer,
      ref: () => timer,
      refresh: () => Object.assign(timer, { at: this.elapsed + afterMs }),
    };
    if (owner.alive) this.#timers.add(timer);
    return timer;
  }

  removeTimer(timer: unknown): void {
    this.#timers.delete(timer as Timer);
  }

  /** Lets time pass at once, as a machine that was suspended sees it: each due timer runs once. */
  advance(ms: number): void {
    this.now += ms;
    this.elapsed += ms;
    this.steady += Math.min(ms, LEAP_MS);
    if (ms > LEAP_MS && this.#steps.length > 0) this.leaptAt = this.elapsed;
  }

  /** Sleeps on virtual time. */
  sleep(owner: Owner, ms: number): Promise<void> {
    return new Promise((resolve) => this.addTimer(owner, resolve, ms, false));
  }

  /** Takes steps until this is true. Rejects when nothing is left that could make it true. */
  async drive(isDone: () => boolean): Promise<void> {
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      await settled();
      while (this.work?.isBusy || this.#isDiskBusy) {
        if (!this.#isDiskBusy) await this.work?.change();
        await settled();
      }
      if (isDone()) return;
      this.#takeStep();
    }
    throw new Error(`still not done after ${MAX_STEPS} steps`);
  }

  #takeStep(): void {
    this.#forgetDead();
    const due = [...this.#timers].filter((timer) => timer.at <= this.elapsed);
    const choices = this.#steps.length + due.length;
    if (choices === 0 || this.#random.chance(0.02)) {
      if (!this.#passTime() && choices === 0) throw new Error('nothing is left to do');
      return;
    }
    const choice = this.#random.between(0, choices - 1);
    const [step] = choice < this.#steps.length ? this.#steps.splice(choice, 1) : [];
    const timer = due[choice - this.#steps.length];
    if (step !== undefined) this.run(step.owner, step.run);
    else if (timer !== undefined) this.#fire(timer);
  }

  get #isDiskBusy(): boolean {
    if (this.filesUsed === 0) return false;
    return process.getActiveResourcesInfo().some((name) => /^(?:FSReq|CloseReq)/.test(name));
  }

  #fire(timer: Timer): void {
    if (timer.everyMs === undefined) this.#timers.delete(timer);
    else timer.at = this.elapsed + timer.everyMs;
    this.run(timer.owner, timer.run);
  }

  /** To the next timer; `false` without one. */
  #passTime(): boolean {
    let next = Number.POSITIVE_INFINITY;
    for (const { at } of this.#timers) if (at > this.elapsed) next = Math.min(next, at);
    if (next === Number.POSITIVE_INFINITY) return false;
    this.advance(next - this.elapsed);
    return true;
  }

  #forgetDead(): void {
    for (let index = this.#steps.length - 1; index >= 0; index -= 1) {
      if (this.#steps[index]?.owner.alive === false) this.#steps.splice(index, 1);
    }
    for (const timer of this.#timers) if (!timer.owner.alive) this.#timers.delete(timer);
  }
}

/** Calls a function that sees the real clock and sets real timers. */
export function outside<T>(work: () => T): T {
  return scopes.exit(work);
}

/** Resolves when every promise that could go on has done so. */
function settled(): Promise<void> {
  return new Promise((resolve) => real.setImmediate(resolve));
}

let isInstalled = false;

/** Replaces Node's timers and clocks, once, by ones that are virtual inside {@link Scheduler.run} and as before outside of it. */
function installVirtualTime(): void {
  if (isInstalled) return;
  isInstalled = true;
  const timer = (repeats: boolean, otherwise: (...args: never[]) => unknown) =>
    function virtualTimer(
      this: unknown,
      run: (...args: unknown[]) => void,
      ms = 0,
      ...args: unknown[]
    ) {
      const scope = scopes.getStore();
      if (scope === undefined) return Reflect.apply(otherwise, this, [run, ms, ...args]);
      return scope.scheduler.addTimer(scope.owner, () => run(...args), ms, repeats);
    };
  const clear = (otherwise: (...args: never[]) => unknown) => (timer: unknown) => {
    const scope = scopes.getStore();
    if (scope === undefined) Reflect.apply(otherwise, undefined, [timer]);
    else scope.scheduler.removeTimer(timer);
  };
  const immediate = (run: (...args: unknown[]) => void, ...args: unknown[]) => {
    const scope = scopes.getStore();
    if (scope === undefined) return real.setImmediate(run, ...args);
    return scope.scheduler.addStep(scope.owner, () => run(...args));
  };
  const nextTurn = (value?: unknown) => new Promise((resolve) => immediate(() => resolve(value)));
  const replacements = {
    setTimeout: timer(false, globalThis.setTimeout),
    setInterval: timer(true, globalThis.setInterval),
    clearTimeout: clear(globalThis.clearTimeout),
    clearInterval: clear(globalThis.clearInterval),
    setImmediate: immediate,
  };
  Object.assign(globalThis, replacements);
  Object.assign(timers, replacements);
  const wait = timersPromises.setTimeout;
  const delay = (ms = 0, value?: unknown, options?: object) =>
    scopes.getStore() === undefined
      ? wait(ms, value, options)
      : new Promise((resolve) => replacements.setTimeout(() => resolve(value), ms));
  Object.assign(timersPromises, { setImmediate: nextTurn, setTimeout: delay });
  const timeout = AbortSignal.timeout;
  AbortSignal.timeout = (ms) => {
    if (scopes.getStore() === undefined) return timeout(ms);
    const controller = new AbortController();
    replacements.setTimeout(() => controller.abort(new DOMException('', 'TimeoutError')), ms);
    return controller.signal;
  };
  Math.random = () => scopes.getStore()?.scheduler.random() ?? real.random();
  Date.now = () => scopes.getStore()?.scheduler.now ?? real.dateNow();
  performance.now = () => scopes.getStore()?.scheduler.elapsed ?? real.performanceNow();
  // Modules that imported these by name see the replacements from now on.
  syncBuiltinESMExports();
}
