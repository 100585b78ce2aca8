import { AsyncLocalStorage } from 'node:async_hooks';
import type { Store } from '../../src/inner-server.ts';
import type { Random } from '../kernel/random.ts';
import type { Owner, Scheduler } from '../kernel/scheduler.ts';
import type { Base, BaseEvents, MakeBase } from './base.ts';
import type { Server } from './load-server.ts';

export const PUBLIC_URL = 'https://sho.rt';

/** What codes of links are made of. */
export const LETTERS = [...'23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'];

/** What happened to a request inside of the service. */
export interface Witness {
  /** The time by which the service counted it in the windows of the plan. */
  admittedAt?: number;
  /** Whether the database failed while it was counted or given back, so that nobody knows whether it counts. */
  isDoubtful?: boolean;
  /** Whether that was done without its standby, which takes over. Nobody waits for a standby there, so that it may not count. */
  isForgettable?: boolean;
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

/** Instances of the service on one database, on virtual time, with faults. */
export class World {
  readonly scheduler: Scheduler;
  readonly base: Base;
  /** Those that take requests. */
  instances: Instance[] = [];
  /** Whether the database fails now and then. */
  isFaulty = false;
  /** Requests that instances have received. */
  sent = 0;
  /** Commits that failed, and nobody was told whether they were carried out. */
  doubtfulCommits = 0;
  /** Called when the database fails. */
  onFault: () => void = () => undefined;
  /** Called after every commit. */
  onCommit: () => Promise<void> = async () => undefined;
  /** Called when something happens in the database that must never happen. */
  onWrong: (what: string) => void = () => undefined;
  readonly #server: Server;
  readonly #operator: Owner = { name: 'operator', isAlive: true };
  readonly #operatorStore: Store;
  readonly #failingStore: Store;
  #started = 0;

  constructor(server: Server, scheduler: Scheduler, random: Random, makeBase: MakeBase) {
    this.#server = server;
    this.scheduler = scheduler;
    const events: BaseEvents = {
      fails: (share) => {
        const failsNow = this.isFaulty && random.chance(share);
        if (failsNow) this.onFault();
        return failsNow;
      },
      onDoubt: () => {
        this.doubtfulCommits += 1;
      },
      onCommit: () => this.onCommit(),
      onWrong: (what) => this.onWrong(what),
      generateCode: () => Array.from({ length: 7 }, () => random.pick(LETTERS)).join(''),
    };
    this.base = makeBase(events, scheduler);
    this.#operatorStore = this.base.openStore(this.#operator, false);
    this.#failingStore = this.base.openStore(this.#operator, true);
  }

  /** Rows of the database, past the service. */
  rows<T extends object>(sql: string, ...values: (string | number)[]): Promise<T[]> {
    return this.base.rows<T>(sql, ...values);
  }

  /**
   * Carries out an operator's command, which runs in a process of its own.
   *
   * @param mayFail - whether the database may fail it
   */
  operate<T>(command: (store: Store, server: Server) => Promise<T>, mayFail = false): Promise<T> {
    const store = mayFail ? this.#failingStore : this.#operatorStore;
    return this.scheduler.run(this.#operator, () => command(store, this.#server));
  }

  /** Whether what began at this time may have failed because time has leapt, or the database was lost. */
  mayBeLate(begun: number): boolean {
    const { failover, hurryMs } = this.base;
    const last = Math.max(this.scheduler.leaptAt, failover?.failsUntil ?? Number.NEGATIVE_INFINITY);
    return last + hurryMs >= begun;
  }

  /** The instances that take new requests. */
  get serving(): Instance[] {
    return this.instances.filter(({ isStopping }) => !isStopping);
  }

  newProcess(): Owner {
    this.#started += 1;
    return { name: `server ${this.#started}`, isAlive: true };
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
    const store = this.#onlyWhileAlive(owner, this.base.openStore(owner, true));
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
          witnesses.run(
            witness,
            async () => (await respondNow(service, request)) ?? read(await service.fetch(request)),
          ),
        );
        const outcome = await Promise.race([answer, death]);
        instance.busy -= 1;
        if (outcome !== undefined) instance.answered += 1;
        return outcome;
      },
      kill: () => {
        if (!instance.isAlive) return;
        instance.isAlive = false;
        this.base.forget(instance);
        this.instances = this.instances.filter((other) => other !== instance);
        reportDeath(undefined);
        onEnd?.();
      },
      stop: async () => {
        instance.isStopping = true;
        service.drain();
        while (instance.isAlive && instance.busy > 0) await scheduler.sleep(owner, 50);
        await Promise.race([scheduler.run(owner, () => service.stop()), death]);
        instance.kill();
      },
    });
    const begun = scheduler.elapsed;
    try {
      await scheduler.run(owner, () => service.start());
      this.instances.push(instance);
    } catch (error) {
      // Without its database, a process ends.
      const mayFail = this.base.readsFail && (this.isFaulty || this.mayBeLate(begun));
      if (!mayFail) throw error;
      instance.kill();
    }
    return instance;
  }

  async close(): Promise<void> {
    for (const instance of this.instances) instance.kill();
    await this.base.close();
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
          const { failover } = this.base;
          const isBefore = failover?.isOver === false;
          const counting = name === 'admit' || name === 'refund' ? witness : undefined;
          if (name === 'admit' && witness !== undefined) witness.admittedAt = Number(args[1]);
          try {
            return await Reflect.apply(method, target, args);
          } catch (error) {
            if (counting !== undefined) counting.isDoubtful = true;
            throw error;
          } finally {
            if (counting !== undefined && isBefore && failover?.isCutOff)
              counting.isForgettable = true;
            await scheduler.pause(owner);
          }
        };
      },
    });
  }
}

/** What is responded from memory, past the app, as to the sockets of a real server; undefined where the app has to respond. */
async function respondNow(
  { redirectNow }: ReturnType<Server['createService']>,
  { method, url, headers }: Request,
): Promise<Answer | undefined> {
  const { pathname, search, host } = new URL(url);
  const incoming = {
    method,
    url: pathname + search,
    headers: { ...Object.fromEntries(headers), host },
  };
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const answer: Answer = { status: 0, headers: new Headers(), json: undefined };
  const outgoing = {
    writeHead: (status: number, fields: Record<string, string>) =>
      Object.assign(answer, { status, headers: new Headers(fields) }),
    end: () => resolve(answer),
  };
  return redirectNow(incoming as never, outgoing as never) ? promise : undefined;
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  const json = text.startsWith('{') ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, json };
}
