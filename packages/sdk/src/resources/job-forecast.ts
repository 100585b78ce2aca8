import type { Clock } from '../http/clock.ts';

/** How much a forecast is lowered after a job was seen complete by its first poll. */
const FIRST_LOWERING = 0.1;
const MAX_LOWERING = 0.5;

/**
 * What the jobs of one client taught about the next one's length, so that its first poll lands near its end: polls
 * count against the plan's quota.
 *
 * Jobs that were accepted while others ran are taken to be worked through one after the other: the length of each counts from the
 * end of the one before it.
 *
 * A job that is complete at its first poll tells only that the forecast was not too short. The forecast is then
 * lowered, a little at first and twice as much each time in a row, until a poll comes too early and measures again:
 * a steady service costs three polls for two jobs, one that became ten times faster is caught up with in six jobs.
 * As long as nothing was ever measured it is halved.
 */
export class JobForecast {
  readonly #clock: Pick<Clock, 'now'>;
  #msPerLink: number | undefined;
  #lowering = MAX_LOWERING;
  #last: ExpectedJob | undefined;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** A job of `total` links was accepted. Call {@link ExpectedJob.end} when nobody waits for it any more. */
  begin(total: number): ExpectedJob {
    const job = new ExpectedJob(this, this.#clock, total, this.#last);
    this.#last = job;
    return job;
  }

  /** Expected length of a job of `total` links in milliseconds, or undefined before any job was seen to end. */
  expectedMs(total: number): number | undefined {
    return this.#msPerLink === undefined ? undefined : this.#msPerLink * total;
  }

  /** A job was seen incomplete and later complete: it took about `lengthMs`. */
  measured(total: number, lengthMs: number): void {
    if (!(total > 0) || !(lengthMs >= 0)) return;
    this.#msPerLink = lengthMs / total;
    this.#lowering = FIRST_LOWERING;
  }

  /** A job was complete at its first poll, `seenMs` after it began. */
  completeAtFirstPoll(total: number, seenMs: number): void {
    if (!(total > 0)) return;
    const upperBound = seenMs / total;
    const lowered = (this.#msPerLink ?? upperBound) * (1 - this.#lowering);
    this.#msPerLink = Math.min(upperBound, lowered);
    this.#lowering = Math.min(MAX_LOWERING, this.#lowering * 2);
  }
}

/** One job that is waited for. Times are milliseconds since it was accepted. */
export class ExpectedJob {
  readonly #forecast: JobForecast;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #total: number;
  readonly #acceptedAt: number;
  #before: ExpectedJob | undefined;
  #endedAt: number | undefined;

  constructor(
    forecast: JobForecast,
    clock: Pick<Clock, 'now'>,
    total: number,
    before: ExpectedJob | undefined,
  ) {
    this.#forecast = forecast;
    this.#clock = clock;
    this.#total = total;
    this.#acceptedAt = clock.now();
    if (before !== undefined && before.#endedAt === undefined) this.#before = before;
  }

  /** When its turn came: at its acceptance, or when the job before it was seen to end; undefined while that runs. */
  get beganMs(): number | undefined {
    if (this.#before === undefined) return 0;
    const endedAt = this.#before.#endedAt;
    return endedAt === undefined ? undefined : endedAt - this.#acceptedAt;
  }

  /** How long it should take from then on; undefined before any job was seen to end. */
  get expectedMs(): number | undefined {
    return this.#forecast.expectedMs(this.#total);
  }

  /** When it should end at the latest, if the jobs before it take as long as this one. */
  get expectedEndMs(): number | undefined {
    const { expectedMs } = this;
    let jobs = 1;
    for (let before = this.#before; before !== undefined; before = before.#before) jobs += 1;
    return expectedMs === undefined ? undefined : expectedMs * jobs;
  }

  /** It was complete at its first poll. */
  completeAtFirstPoll(seenMs: number): void {
    this.#forecast.completeAtFirstPoll(this.#total, seenMs - (this.beganMs ?? 0));
  }

  /** It was seen incomplete, and later complete: it ended about `endMs`. */
  measured(endMs: number): void {
    this.#forecast.measured(this.#total, Math.max(0, endMs - (this.beganMs ?? 0)));
  }

  end(): void {
    this.#endedAt ??= this.#clock.now();
    // Whoever comes after it needs its end only: a chain of all jobs would never be forgotten.
    this.#before = undefined;
  }
}
