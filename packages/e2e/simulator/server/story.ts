import type { Ledger } from './ledger.ts';
import type { Scheduler } from './scheduler.ts';

/** What happens in a history, for the rules and for a person. */
export class Story {
  readonly ledger: Ledger = {
    accounts: [],
    creates: [],
    attempts: [],
    clicks: new Map(),
    leads: new Map(),
    moves: [],
    faults: [],
    wasRough: false,
    events: 0,
    violations: [],
    trace: [],
  };
  readonly #scheduler: Scheduler;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
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
