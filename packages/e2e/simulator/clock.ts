/** What happens at a time. A cancelled event is skipped. */
export interface TimedEvent {
  at: number;
  order: number;
  /** Whose event it is: it is dropped when its owner is dead. */
  owner: { isAlive: boolean } | undefined;
  run: () => void;
  isCancelled: boolean;
}

/** Events after which a simulation is taken for one that never ends. */
const MAX_EVENTS = 300_000;

/** Its callbacks are microtasks, and several times cheaper than those of `queueMicrotask`, which Node makes resources of. */
const settled = Promise.resolve();

/**
 * Virtual time: events happen in the order of their times, and between two of them no time passes. All that a promise sets off
 * happens before the next event, so that the events are the only points where anything can come between two steps of a program.
 */
export class Clock {
  /** Milliseconds since the simulation began. */
  now = 0;
  /** Number of the event that happens now. */
  turn = 0;
  /** Owner of the event that happens now, and of all that follows from it before the next one. */
  current: { isAlive: boolean } | undefined;
  #heap: TimedEvent[] = [];
  #order = 0;

  after(delayMs: number, owner: TimedEvent['owner'], run: () => void): TimedEvent {
    const at = this.now + Math.max(0, delayMs);
    this.#order += 1;
    const event = { at, order: this.#order, owner, run, isCancelled: false };
    this.#push(event);
    return event;
  }

  /**
   * Lets events happen until `isDone`. It returns `false` when none is left before that, or there are more of them than a
   * program that ends can have.
   */
  runUntil(isDone: () => boolean): Promise<boolean> {
    const limit = this.turn + MAX_EVENTS;
    return new Promise((resolve, reject) => {
      const step = () => {
        try {
          if (isDone()) return resolve(true);
          const event = this.#next();
          if (event === undefined || this.turn > limit) return resolve(false);
          this.now = Math.max(this.now, event.at);
          this.turn += 1;
          this.current = event.owner;
          event.run();
          settled.then(again);
        } catch (error) {
          reject(error);
        }
      };
      // A tick begins when no promise has anything left to do, and no real I/O comes between two ticks.
      const again = () => process.nextTick(step);
      process.nextTick(step);
    });
  }

  #next(): TimedEvent | undefined {
    for (;;) {
      const event = this.#pop();
      if (event === undefined) return undefined;
      if (!event.isCancelled && event.owner?.isAlive !== false) return event;
    }
  }

  #push(event: TimedEvent): void {
    const heap = this.#heap;
    let index = heap.push(event) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || isBefore(parent, event)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = event;
  }

  #pop(): TimedEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      const left = heap[below];
      if (left === undefined) break;
      const right = heap[below + 1];
      let child = left;
      if (right !== undefined && isBefore(right, left)) {
        below += 1;
        child = right;
      }
      if (isBefore(last, child)) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(a: TimedEvent, b: TimedEvent): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
