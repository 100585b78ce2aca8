import type { Scheduler } from '../kernel/scheduler.ts';

/** What happens to a database and its standby, in this order. */
interface Steps {
  scheduler: Scheduler;
  /** The standby receives what is committed, and acknowledges nothing. */
  silence: () => Promise<void>;
  /** It receives nothing any more. */
  cut: () => Promise<void>;
  /** Sessions whose commit waits are ended. */
  endWaiting: () => Promise<void>;
  /** It takes over, and the database is lost. */
  promote: () => Promise<void>;
}

/** How a standby takes over from the database of a history, step by step. What was acknowledged before stays. */
export class Failover {
  readonly #steps: Steps;
  #state: 'none' | 'silent' | 'cut off' | 'ended' | 'over' = 'none';
  #overAt = Number.NEGATIVE_INFINITY;

  constructor(steps: Steps) {
    this.#steps = steps;
  }

  /** Whether commits wait for the standby. */
  get isUnderWay(): boolean {
    return this.#state !== 'none' && !this.isOver;
  }

  /** Whether the standby was cut off: it doesn't have what was committed from then on until it took over. */
  get isCutOff(): boolean {
    return this.#state !== 'none' && this.#state !== 'silent';
  }

  /** Whether the standby has taken over. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** Until when calls fail because of it, as {@link Scheduler.elapsed}. */
  get failsUntil(): number {
    return this.isUnderWay ? Number.POSITIVE_INFINITY : this.#overAt;
  }

  /**
   * The next step, as a sentence; undefined once there is none.
   *
   * @param isUsual - whether it goes on as most do. Otherwise the standby is cut off as soon as it is silent, and sessions that wait are
   *   ended before it takes over.
   */
  async next(isUsual: boolean): Promise<string | undefined> {
    const { scheduler, silence, cut, endWaiting, promote } = this.#steps;
    switch (this.#state) {
      case 'none':
        this.#state = 'silent';
        await silence();
        if (!isUsual) return this.next(true);
        return 'the standby acknowledges nothing any more';
      case 'silent':
        this.#state = 'cut off';
        await cut();
        return 'the standby is cut off';
      case 'cut off':
        if (!isUsual) {
          this.#state = 'ended';
          await endWaiting();
          return 'the sessions whose commit waits are ended';
        }
        break;
      case 'over':
        return undefined;
    }
    await promote();
    this.#state = 'over';
    this.#overAt = scheduler.elapsed;
    return 'the standby takes over';
  }
}
