import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { type Owner, type Scheduler, type Step, scopeNow } from './scheduler.ts';

const real = {
  setImmediate: globalThis.setImmediate,
  dateNow: Date.now,
  performanceNow: performance.now.bind(performance),
  random: Math.random,
};

/** What Node's functions return for a timer. */
class Timer {
  readonly #scheduler: Scheduler;
  readonly #start: () => Step;
  #step: Step;

  constructor(
    { scheduler, owner }: { scheduler: Scheduler; owner: Owner },
    run: () => void,
    ms: number,
    repeats: boolean,
  ) {
    const expire = () => {
      if (repeats) this.#step = this.#start();
      run();
    };
    this.#scheduler = scheduler;
    this.#start = () => scheduler.after(Math.max(1, Math.floor(ms)), owner, expire);
    this.#step = this.#start();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  refresh(): this {
    this.stop();
    this.#step = this.#start();
    return this;
  }

  stop(): void {
    this.#scheduler.cancel(this.#step);
  }
}

type Callback = (...given: unknown[]) => void;

let isInstalled = false;

/** Replaces Node's timers and clocks, once, by ones that are virtual inside {@link Scheduler.run} and as before outside of it. */
export function installVirtualTime(): void {
  if (isInstalled) return;
  isInstalled = true;
  const timer = (repeats: boolean, otherwise: (...args: never[]) => unknown) =>
    function virtualTimer(this: unknown, run: Callback, ms = 0, ...given: unknown[]) {
      const scope = scopeNow();
      if (scope === undefined) return Reflect.apply(otherwise, this, [run, ms, ...given]);
      return new Timer(scope, () => run(...given), ms, repeats);
    };
  const clear = (otherwise: (...args: never[]) => unknown) => (given: unknown) => {
    if (given instanceof Timer) given.stop();
    else Reflect.apply(otherwise, undefined, [given]);
  };
  const immediate = (run: Callback, ...given: unknown[]) => {
    const scope = scopeNow();
    if (scope === undefined) return real.setImmediate(run, ...given);
    return scope.scheduler.after(0, scope.owner, () => run(...given));
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
    scopeNow() === undefined
      ? wait(ms, value, options)
      : new Promise((resolve) => replacements.setTimeout(() => resolve(value), ms));
  Object.assign(timersPromises, { setImmediate: nextTurn, setTimeout: delay });
  const timeout = AbortSignal.timeout;
  AbortSignal.timeout = (ms) => {
    if (scopeNow() === undefined) return timeout(ms);
    const controller = new AbortController();
    replacements.setTimeout(() => controller.abort(new DOMException('', 'TimeoutError')), ms);
    return controller.signal;
  };
  Math.random = () => scopeNow()?.scheduler.random() ?? real.random();
  Date.now = () => scopeNow()?.scheduler.now ?? real.dateNow();
  performance.now = () => scopeNow()?.scheduler.elapsed ?? real.performanceNow();
  // Modules that imported these by name see the replacements from now on.
  syncBuiltinESMExports();
}
