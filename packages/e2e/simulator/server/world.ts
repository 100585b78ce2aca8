import { AsyncLocalStorage } from 'node:async_hooks';
import type { Store } from '../../src/inner-server.ts';
import type { Random } from '../random.ts';
import type { Server } from './load-server.ts';
import type { Owner, Scheduler } from './scheduler.ts';

export const PUBLIC_URL = 'https://sho.rt';

/** What codes of links are made of. */
export const LETTERS = [...'23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'];

/** How often a statement, the same statement once more, or a commit of the database fails while faults are on. */
const FAULTS = { statement: 0.01, again: 0.4, commit: 0.15 } as const;

/** What happened to a request inside of the service. */
export interface Witness {
  /** The time by which the service counted it in the windows of the plan. */
  admittedAt?: number;
  /** Whether the database failed while it was counted or given back, so that nobody knows whether it counts. */
  isDoubtful?: boolean;
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the oracle looks into responses of any shape, also wrong ones.
  json: any;
}

/** One process of the service. Once its owner is dead, no step and no timer of it happens any more. */
export interface Instance extends Owner {
  /** Requests that it hasn't answered. */
  busy: number;
  /** Requests that it has answered. */
  answered: number;
  /** It finishes what it does, and takes no new requests. */
  isStopping: boolean;
  /** Sends it a request; resolves to `undefined` when the instance dies before it has answered. */
  request: (request: Request, witness: Witness) => Promise<Answer | undefined>;
  /** Dies at this moment, whatever it is waiting for. */
  kill: () => void;
  /** Finishes what it does, then dies. */
  stop: () => Promise<void>;
}

/** A process that another one has started, and waits for. */
interface WorkerProcess {
  owner: Owner;
  metrics: InstanceType<Server['SharedMetrics']>;
  onEnd: () => void;
}

const witnesses = new AsyncLocalStorage<Witness>();

/** Instances of the service on one database in memory, on virtual time, with faults of the disk. */
export class World {
  readonly scheduler: Scheduler;
  /** Those that take requests. */
  instances: Instance[] = [];
  /** Whether statements and commits fail now and then. */
  isFaulty = false;
  /** Requests that instances have received. */
  sent = 0;
  /** Commits that failed, and nobody was told whether they were carried out. */
  doubtfulCommits = 0;
  /** Called when a statement or a commit fails. */
  onFault: () => void = () => undefined;
  /** Called after every commit. */
  onCommit: () => void = () => undefined;
  readonly #server: Server;
  readonly #random: Random;
  readonly #db: InstanceType<Server['Database']>;
  readonly #operator: Owner = { name: 'operator', alive: true };
  readonly #operatorStore: Store;
  readonly #failingStore: Store;
  /** Whether the write that runs now may fail. */
  #mayFail = false;
  /** The statement that failed last in that write. */
  #failing: string | undefined;
  #started = 0;

  constructor(server: Server, scheduler: Scheduler, random: Random) {
    this.#server = server;
    this.scheduler = scheduler;
    this.#random = random;
    this.#db = new server.Database({ path: ':memory:' });
    server.migrate(this.#db, server.migrations, scheduler.now);
    this.#addFaults();
    this.#operatorStore = this.#openStore(false);
    this.#failingStore = this.#openStore(true);
  }

  /** Rows of the database, past the service. */
  rows<T extends object>(sql: string, ...values: (string | number)[]): T[] {
    return this.#db.all<T>({ text: sql, values });
  }

  /**
   * Carries out an operator's command, which runs in a process of its own.
   *
   * @param mayFail - whether the disk may fail it
   */
  operate<T>(command: (store: Store, server: Server) => Promise<T>, mayFail = false): Promise<T> {
    const store = mayFail ? this.#failingStore : this.#operatorStore;
    return this.scheduler.run(this.#operator, () => command(store, this.#server));
  }

  /** The instances that take new requests. */
  get serving(): Instance[] {
    return this.instances.filter(({ isStopping }) => !isStopping);
  }

  newProcess(): Owner {
    this.#started += 1;
    return { name: `server ${this.#started}`, alive: true };
  }

  /**
   * Starts another instance; it takes requests from then on.
   *
   * @param skewMs - what its clock differs from the true time by, in milliseconds
   * @param process - that of a worker, which has begun already
   */
  async start(skewMs: number, process: Partial<WorkerProcess> = {}): Promise<Instance> {
    const { scheduler } = this;
    const { owner = this.newProcess(), metrics, onEnd } = process;
    const store = this.#onlyWhileAlive(owner, this.#openStore(true));
    const now = () => scheduler.now + skewMs;
    const service = scheduler.run(owner, () =>
      this.#server.createService({ store, publicUrl: PUBLIC_URL, now, metrics }),
    );
    let reportDeath: (nothing: undefined) => void = () => undefined;
    const death = new Promise<undefined>((resolve) => {
      reportDeath = resolve;
    });
    const instance: Instance = Object.assign(owner, {
      busy: 0,
      answered: 0,
      isStopping: false,
      request: async (request: Request, witness: Witness) => {
        instance.busy += 1;
        this.sent += 1;
        const answer = scheduler.run(owner, () =>
          witnesses.run(witness, async () => read(await service.fetch(request))),
        );
        const outcome = await Promise.race([answer, death]);
        instance.busy -= 1;
        if (outcome !== undefined) instance.answered += 1;
        return outcome;
      },
      kill: () => {
        if (!instance.alive) return;
        instance.alive = false;
        this.instances = this.instances.filter((other) => other !== instance);
        reportDeath(undefined);
        onEnd?.();
      },
      stop: async () => {
        instance.isStopping = true;
        service.drain();
        while (instance.alive && instance.busy > 0) await scheduler.sleep(owner, 50);
        await Promise.race([scheduler.run(owner, () => service.stop()), death]);
        instance.kill();
      },
    });
    await scheduler.run(owner, () => service.start());
    this.instances.push(instance);
    return instance;
  }

  close(): void {
    for (const instance of this.instances) instance.kill();
    this.#db.close();
  }

  /** A store as a process of its own has it: all of them write to the same database, each with a writer of its own. */
  #openStore(mayFail: boolean): Store {
    const { InlineWriter, WriteCore, shortUrlMaker, sqliteStore } = this.#server;
    const shortUrl = shortUrlMaker(PUBLIC_URL);
    const core = new WriteCore({
      db: this.#db,
      shortUrl,
      generateCode: () => Array.from({ length: 7 }, () => this.#random.pick(LETTERS)).join(''),
      isIdle: () => this.#random.chance(0.3),
    });
    const run = core.run.bind(core);
    core.run = (requests, reply) => {
      this.#mayFail = mayFail;
      this.#failing = undefined;
      try {
        return run(requests, reply);
      } finally {
        this.#mayFail = false;
      }
    };
    const writer = new InlineWriter(core);
    return sqliteStore({ reader: this.#db, writer, shortUrl });
  }

  /**
   * Other steps may come before each call of the store, and before its result arrives: there, an instance can die with or without
   * what it asked for.
   */
  #onlyWhileAlive(owner: Owner, store: Store): Store {
    const { scheduler } = this;
    return new Proxy(store, {
      get: (target, name, receiver) => {
        const method = Reflect.get(target, name, receiver);
        if (typeof method !== 'function' || name === 'isHealthy') return method;
        return async (...args: unknown[]) => {
          await scheduler.pause(owner);
          const witness = witnesses.getStore();
          if (name === 'admit' && witness !== undefined) witness.admittedAt = Number(args[1]);
          try {
            return await Reflect.apply(method, target, args);
          } catch (error) {
            if (witness !== undefined && (name === 'admit' || name === 'refund')) {
              witness.isDoubtful = true;
            }
            throw error;
          } finally {
            await scheduler.pause(owner);
          }
        };
      },
    });
  }

  /** A full disk fails a statement or a commit; a disk that breaks in the middle of a commit may have all of it. */
  #addFaults(): void {
    const db = this.#db;
    const { StoreError } = this.#server;
    const fails = (share: number) => {
      const failsNow = this.#mayFail && this.isFaulty && this.#random.chance(share);
      if (failsNow) this.onFault();
      return failsNow;
    };
    const run = db.run.bind(db);
    db.run = (statement) => {
      const text = typeof statement === 'string' ? statement : statement.text;
      if (fails(text === this.#failing ? FAULTS.again : FAULTS.statement)) {
        this.#failing = text;
        throw new StoreError('full', 'no space is left');
      }
      return run(statement);
    };
    const exec = db.exec.bind(db);
    db.exec = (sql) => {
      const failsNow = sql === 'COMMIT' && fails(FAULTS.commit);
      const reason = failsNow && this.#random.chance(0.5) ? 'full' : 'unavailable';
      if (!failsNow || (reason === 'unavailable' && this.#random.chance(0.5))) exec(sql);
      if (failsNow && reason === 'unavailable') this.doubtfulCommits += 1;
      if (failsNow) throw new StoreError(reason, 'the disk failed');
      if (sql === 'COMMIT') this.onCommit();
    };
  }
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  const json = text.startsWith('{') ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, json };
}
