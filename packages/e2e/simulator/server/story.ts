import type { Scheduler } from '../kernel/scheduler.ts';
import type { Ledger } from './ledger.ts';

/** What happens in a history, for the rules and for a person. */
export class Story {
  readonly ledger: Ledger;
  readonly #scheduler: Scheduler;

  /** @param readsFail - see {@link Ledger} */
  constructor(scheduler: Scheduler, readsFail: boolean) {
    this.#scheduler = scheduler;
    this.ledger = {
      accounts: [],
      creates: [],
      attempts: [],
      clicks: new Map(),
      leads: new Map(),
      moves: [],
      faults: [],
      readsFail,
      wasRough: false,
      events: 0,
      violations: [],
      trace: [],
    };
  }

  note(what: string): void {
    const time = new Date(this.#scheduler.now).toISOString();
    this.ledger.trace.push(`${time}  ${what}`);
  }

  report(violation: string | undefined): void {
    if (violation === undefined) return;
    this.ledger.violations.push(violation);
    this.note(`VIOLATION: ${violation}`);
  }
}
