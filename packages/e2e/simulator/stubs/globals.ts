/** Replaces the timers and clocks of this thread, as the SDK and its libraries find them. */
import { theWorld } from '../world/world.ts';
import type { TimedEvent } from '../clock.ts';

class Timer {
  event: TimedEvent | undefined;

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

export function replaceGlobals(): void {
  const setTimer = (callback: (...given: unknown[]) => void, delayMs = 0, ...given: unknown[]) => {
    const { clock } = theWorld();
    const timer = new Timer();
    timer.event = clock.after(delayMs, clock.current, () => callback(...given));
    return timer;
  };
  const setRepeating = (callback: () => void, delayMs: number) => {
    const { clock } = theWorld();
    const timer = new Timer();
    const owner = clock.current;
    const again = () => {
      timer.event = clock.after(delayMs, owner, () => {
        again();
        callback();
      });
    };
    again();
    return timer;
  };
  const clear = (timer: unknown) => {
    if (timer instanceof Timer && timer.event !== undefined) timer.event.isCancelled = true;
  };
  Object.assign(globalThis, {
    setTimeout: setTimer,
    setInterval: setRepeating,
    clearTimeout: clear,
    clearInterval: clear,
  });
  Date.now = () => theWorld().wallClock();
  Object.defineProperty(performance, 'now', { value: () => theWorld().clock.now });
  Math.random = () => theWorld().random.next();
}
