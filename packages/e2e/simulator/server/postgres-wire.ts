import { setTimeout as delay } from 'node:timers/promises';
import {
  type Client,
  DatabaseError,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
} from 'pg';
import { type Owner, outside, type RealWork, type Scheduler } from '../kernel/scheduler.ts';
import { closeGate, GATED_STATEMENT, openGate } from './postgres-gate.ts';

/** How often a connection is lost at a statement, or at a commit: before the database gets it, or before its response is read. */
const LOSSES = { statement: 0.01, commit: 0.15 } as const;

/** When the database is asked which statements wait for a lock, in milliseconds of real time. */
const ASKED_AFTER_MS = 2;

/** After so long, a statement that does not end is a failure of the history, in milliseconds of real time. */
const STUCK_MS = 60_000;

/** Sessions that wait for a lock, those that they wait for, and sessions that wait for the standby. */
const WAITING = `SELECT pid, CASE WHEN wait_event_type = 'Lock' THEN pg_blocking_pids(pid) END AS blockers,
    wait_event IS NOT DISTINCT FROM 'SyncRep' AS is_held
  FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;

export interface WireEvents {
  fails: (share: number) => boolean;
  /** Whether a connection is lost before the database gets a statement; else it is lost before the response is read. */
  isBefore: () => boolean;
  /** At which kind of its rows a statement is stopped, if at any. */
  drawGate: () => 0 | 1 | undefined;
  onCommit: () => Promise<void>;
  /** Statements waited for each other, until the database ended one of them. */
  onDeadlock: (text: string) => void;
}

const DEADLOCK = '40P01';

/** For how many turns of its own a statement is stopped. Others have as many meanwhile. */
const GATED_STEPS = 12;

/** Whose turns those are. */
const GATE: Owner = { name: 'gate', isAlive: true };

/**
 * All connections of a history. A statement goes when its turn comes, and so does its response. At most one runs at a time: those under way
 * beside it wait for the lock of another transaction, as the database says.
 */
export class Wire implements RealWork {
  readonly events: WireEvents;
  readonly scheduler: Scheduler;
  /** The database that all connections lead to, and a connection that asks it who waits. */
  watch: { url: string; observer: Client; reader: Client };
  /** While it is under way, commits wait for the standby. */
  failover: { isUnderWay: boolean } | undefined;
  /** What is under way, by number, with the session of the database that does it. */
  readonly #work = new Map<number, number | undefined>();
  /** Sessions whose connection was cut, and that the database has not ended yet. */
  readonly #cut = new Set<number>();
  /** What has ended, by the number of its beginning: its callers go on in this order, whichever ended first. */
  readonly #ended = new Map<number, () => void>();
  #begun = 0;
  #changes = 0;
  /** `#changes` when all that was left waited for a lock. */
  #stillAt = 0;
  #changedAt = performance.now();
  #wake: () => void = () => undefined;

  constructor(watch: Wire['watch'], scheduler: Scheduler, events: WireEvents) {
    this.watch = watch;
    this.scheduler = scheduler;
    this.events = events;
    scheduler.work = this;
  }

  get isBusy(): boolean {
    return this.#isRunning || this.#ended.size > 0;
  }

  get #isRunning(): boolean {
    return this.#work.size + this.#cut.size > 0 && this.#stillAt !== this.#changes;
  }

  async change(): Promise<void> {
    if (this.#isRunning) return this.#rest();
    const ended = [...this.#ended].toSorted(([a], [b]) => a - b);
    this.#ended.clear();
    for (const [, tell] of ended) tell();
  }

  /** Resolves when something has ended, or all that is left waits for a lock. */
  async #rest(): Promise<void> {
    const before = this.#changes;
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    if (this.#work.size > 0) await Promise.race([woken, delay(ASKED_AFTER_MS)]);
    if (this.#changes !== before) return;
    const { watch } = this;
    const asked = watch.observer.query<Waiting>(WAITING);
    const { rows } = await asked.catch((error: unknown) => {
      if (this.watch === watch) throw error;
      return { rows: [] };
    });
    if (this.#changes !== before || this.watch !== watch) return;
    const waiting = new Map(rows.map(({ pid, blockers }) => [pid, blockers ?? undefined]));
    const isHeld = new Set(
      rows.filter(({ is_held }) => is_held && this.failover?.isUnderWay).map(({ pid }) => pid),
    );
    for (const pid of this.#cut) if (!waiting.has(pid)) this.#cut.delete(pid);
    const all = [...this.#work.values(), ...this.#cut];
    // A session that was just woken still says that it waits, but nobody blocks it.
    const isStill = (pid = 0) =>
      isHeld.has(pid) ||
      (waiting.get(pid)?.some((blocker) => waiting.has(blocker)) && !isDeadlocked(pid, waiting));
    if (all.every(isStill)) this.#stillAt = this.#changes;
    else if (performance.now() - this.#changedAt > STUCK_MS)
      throw new Error('A statement does not end, and waits for no lock');
  }

  /** Real work, during which time stands still. */
  async real<T>(work: () => Promise<T>, pid?: number): Promise<T> {
    const number = this.#begun++;
    this.#work.set(number, pid);
    this.#note();
    try {
      return await outside(work);
    } finally {
      this.#work.delete(number);
      const told = new Promise<void>((resolve) => this.#ended.set(number, resolve));
      this.#note();
      await told;
    }
  }

  /** Stops the next gated statement of a session, and lets it go on some steps later. */
  async gate(pid: number, kind: 0 | 1): Promise<void> {
    const { reader } = this.watch;
    await reader.query(closeGate(pid, kind));
    const open = async () => {
      for (let steps = 0; steps < GATED_STEPS; steps += 1) await this.scheduler.pause(GATE);
      await this.real(() => reader.query(openGate(pid, kind)).catch(() => undefined));
    };
    void this.scheduler.run(GATE, open);
  }

  /** The connection is gone. The session ends when its statement does. */
  cut(client: PoolClient): void {
    const { connection, processID } = client as unknown as Connected;
    if (connection.stream.destroyed) return;
    this.#cut.add(processID);
    this.#note();
    outside(() => connection.stream.destroy());
  }

  #note(): void {
    this.#changes += 1;
    this.#changedAt = outside(() => performance.now());
    this.#wake();
  }
}

interface Waiting {
  pid: number;
  blockers: number[] | null;
  is_held: boolean;
}

/** What the driver doesn't tell of a connection. */
export interface Connected {
  processID: number;
  connection: { stream: { destroyed: boolean; destroy: () => void } };
}

/** Whether sessions wait for each other: the database ends one of them soon. */
function isDeadlocked(
  pid: number,
  waiting: ReadonlyMap<number, readonly number[] | undefined>,
): boolean {
  const seen = new Set<number>();
  const open = [pid];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const blocker of waiting.get(next) ?? []) {
      if (blocker === pid) return true;
      if (!seen.has(blocker)) open.push(blocker);
      seen.add(blocker);
    }
  }
  return false;
}

/** The connections of a process. */
export class Session {
  readonly #wire: Wire;
  readonly #owner: Owner;
  readonly #mayFail: boolean;
  readonly #clients = new Set<PoolClient>();

  constructor(wire: Wire, owner: Owner, mayFail: boolean) {
    this.#wire = wire;
    this.#owner = owner;
    this.#mayFail = mayFail;
  }

  get url(): string {
    return this.#wire.watch.url;
  }

  /** The process has died, or the database. */
  end(): void {
    for (const client of this.#clients) this.#wire.cut(client);
  }

  /** Real work of the process: it begins in a step, and its end is another one. */
  async act<T>(work: () => Promise<T>, pid?: number, atEnd?: () => Promise<void>): Promise<T> {
    await this.#wire.scheduler.pause(this.#owner);
    try {
      return await this.#wire.real(work, pid);
    } finally {
      await atEnd?.();
      await this.#wire.scheduler.pause(this.#owner);
    }
  }

  async connect(connect: () => Promise<PoolClient>): Promise<PoolClient> {
    const client = await this.act(connect);
    if (!this.#clients.has(client)) this.#adopt(client);
    const { release } = client;
    client.release = (error) => outside(() => release(error));
    return client;
  }

  #adopt(client: PoolClient): void {
    this.#clients.add(client);
    const query = client.query.bind(client) as Query;
    const { processID } = client as unknown as Connected;
    const simulated: Query = (asked) => {
      const text = typeof asked === 'string' ? asked : asked.text;
      const loss = this.#drawLoss(text);
      const gate =
        this.#mayFail && GATED_STATEMENT.test(text) ? this.#wire.events.drawGate() : undefined;
      let isCommitted = false;
      const statement = async () => {
        if (loss === 'before') this.#wire.cut(client);
        if (gate !== undefined) await this.#wire.gate(processID, gate);
        const result = await query(asked).catch((error: unknown) => {
          if (error instanceof DatabaseError && error.code === DEADLOCK)
            this.#wire.events.onDeadlock(text);
          throw error;
        });
        isCommitted = text === 'COMMIT';
        if (loss !== 'after') return result;
        this.#wire.cut(client);
        throw new Error('Connection terminated unexpectedly');
      };
      const atEnd = async () => {
        if (isCommitted) await this.#wire.events.onCommit();
      };
      return this.act(statement, processID, atEnd);
    };
    Object.assign(client, { query: simulated });
  }

  #drawLoss(text: string): 'before' | 'after' | undefined {
    const { fails, isBefore } = this.#wire.events;
    if (!this.#mayFail || !fails(text === 'COMMIT' ? LOSSES.commit : LOSSES.statement))
      return undefined;
    return isBefore() ? 'before' : 'after';
  }
}

type Query = (asked: string | QueryConfig) => Promise<QueryResult>;

let next: Session | undefined;

/** Calls a function that opens the pools of a process. */
export function withSession<T>(session: Session, open: () => T): T {
  next = session;
  try {
    return open();
  } finally {
    next = undefined;
  }
}

export function takeSession(): Session {
  if (next === undefined) throw new Error('No process of a simulation opens this pool');
  return next;
}
