import cluster, { type Worker } from 'node:cluster';
import { on, once } from 'node:events';
import { createServer } from 'node:net';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { CommandFailed } from './admin/command.ts';
import type { Logger } from './logger.ts';
import { addUp, countersOf, Metrics, type ToldMetric } from './metrics/metrics.ts';
import { databaseTools } from './open-store.ts';
import { portOf } from './serve.ts';
import { ConfigError, httpOrigin, publicUrlOf, type Settings } from './settings.ts';
import { prepare, type RunningServer, startCounting } from './start-server.ts';

/** Wait before a worker that has ended is replaced: doubled with each one in a row that ended within `settled`, in milliseconds. */
const RESTART_MS = { first: 100, most: 10_000, settled: 30_000 } as const;

/** How often workers report what they count, and how long a full report may take, in milliseconds. A worker that is killed or slow is shown by its last report. */
const METRICS_MS = 1_000;

/** A message between the first process and a worker. `ask` is for metrics: a worker responds with its own, the first process with those of all workers. */
type Message =
  | { type: 'serving' | 'stop' }
  | { type: 'ask'; id: string }
  | { type: 'metrics'; id: string; metrics: ToldMetric[] };

interface Slot {
  number: number;
  worker: Worker | undefined;
  /** Absent until one has served: the end of its worker ends the start of all. */
  failures: number | undefined;
  timer?: NodeJS.Timeout;
  /** The last report of each metric, by its name. */
  metrics: Map<string, ToldMetric>;
}

interface FirstProcess {
  logger: Logger;
  /** Receives each line of the workers' logs. */
  writeLog: (line: string) => void;
  fork: (number: number) => Worker;
}

/**
 * Serves one port with several processes. The first replaces workers that end, and adds up their metrics; it uses the database before they start.
 * @throws the system's error when the address can't be had, a ConfigError, or a CommandFailed when the first workers end instead of serving
 */
export async function startWorkers(
  settings: Settings,
  { dev, ...options }: Omit<FirstProcess, 'fork'> & { dev: boolean },
): Promise<RunningServer> {
  const { database, host } = settings;
  if (database.engine === 'sqlite' && database.path === ':memory:') {
    throw new ConfigError(
      'SHORTLINK_WORKERS is for a database that processes can share; expected one that is not in memory',
    );
  }
  const port = await freePort(host, settings.port);
  const publicUrl = publicUrlOf({ ...settings, port });
  const tools = databaseTools(settings, (text) => options.logger.warn(text));
  const store = await tools.open(publicUrl);
  const prepared = prepare(store, settings, { publicUrl, dev });
  const { devKey, devAccountId } = await prepared.finally(() => store.close());
  // Each worker takes connections from the queue of the system. Those that the first process deals out would hang where a worker dies with them.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ args: [...process.argv.slice(2), '--port', String(port)], silent: true });
  const fork = (number: number) => cluster.fork({ [WORKER]: String(number) });
  const workers = new Workers(settings.workers, { ...options, fork });
  // A second signal ends this process at once.
  process.once('exit', () => workers.kill());
  await workers.start();
  const url = httpOrigin(host, port);
  return { url, publicUrl, devKey, devAccountId, stop: () => workers.stop() };
}

/** The first of the processes: what it does for the others, however they are started. */
export class Workers {
  readonly #options: FirstProcess;
  readonly #slots: readonly Slot[];
  /** The counters of workers that have ended. Without them, the sums would fall, which looks like a restart. */
  #ended: ToldMetric[] = [];
  #isStopping = false;

  constructor(count: number, options: FirstProcess) {
    this.#options = options;
    this.#slots = Array.from({ length: count }, (_, number) => {
      return { number, worker: undefined, failures: undefined, metrics: new Map() };
    });
  }

  /** Rejects when one of them ends before it serves. */
  async start(): Promise<void> {
    try {
      // One is started before the others, so that what keeps them from starting is said once.
      for (const slots of [this.#slots.slice(0, 1), this.#slots.slice(1)]) {
        await Promise.all(slots.map((slot) => this.#fork(slot)));
      }
    } catch (error) {
      this.#isStopping = true;
      this.kill();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const { timer } of this.#slots) clearTimeout(timer);
    const workers = this.#workers();
    // The last lines of its log come after its end.
    const ends = workers.map((worker) => once(worker.process, 'close'));
    for (const worker of workers) send(worker, { type: 'stop' });
    await Promise.all(ends);
  }

  #workers(): Worker[] {
    return this.#slots.flatMap(({ worker }) => worker ?? []);
  }

  kill(): void {
    for (const worker of this.#workers()) worker.process.kill('SIGKILL');
  }

  /** Resolves when it serves, and rejects when it ends before that. One that ends, or that the system does not start, is replaced. */
  #fork(slot: Slot): Promise<void> {
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      const onEnd = (words: string, end: object) => {
        slot.worker = undefined;
        this.#ended = addUp([this.#ended, countersOf(slot.metrics.values())]).getMetricsAsArray();
        slot.metrics.clear();
        reject(new CommandFailed(`the server did not start: ${words}`));
        if (this.#isStopping || slot.failures === undefined) return;
        const isEarly = performance.now() - startedAt < RESTART_MS.settled;
        slot.failures = isEarly ? slot.failures + 1 : 1;
        const waitMs = Math.min(RESTART_MS.first * 2 ** (slot.failures - 1), RESTART_MS.most);
        const line = { worker: slot.number, ...end, waitMs };
        this.#options.logger.error(line, 'a worker ended, and is replaced');
        slot.timer = setTimeout(() => this.#fork(slot).catch(() => undefined), waitMs);
      };
      const onServing = () => {
        slot.failures ??= 0;
        resolve();
      };
      try {
        this.#watch(slot, onServing, onEnd);
      } catch (err) {
        onEnd(String(err), { err });
      }
    });
  }

  #watch(slot: Slot, onServing: () => void, onEnd: (words: string, end: object) => void): void {
    const worker = this.#options.fork(slot.number);
    slot.worker = worker;
    for (const input of [worker.process.stdout, worker.process.stderr]) {
      if (!input) continue;
      createInterface({ input }).on('line', (line) => this.#options.writeLog(`${line}\n`));
    }
    worker.on('message', (message: Message) => {
      if (message.type === 'serving') onServing();
      // A message may arrive after the end of its worker, whose counters were added to those of the ended ones then.
      if (message.type === 'metrics' && slot.worker === worker) {
        for (const one of message.metrics) slot.metrics.set(one.name, one);
      }
      if (message.type === 'ask') void this.#tellMetrics(worker, message.id);
    });
    worker.once('exit', (code, signal) => {
      onEnd(`a worker ended with ${signal ?? `code ${code}`}`, { code, signal });
    });
    worker.on('error', (err) => {
      // A process that was never there does not exit.
      if (worker.process.pid === undefined) onEnd(err.message, { err });
    });
  }

  async #tellMetrics(asking: Worker, id: string): Promise<void> {
    await Promise.allSettled(this.#workers().map((worker) => askMetrics(worker, METRICS_MS)));
    const told = this.#slots.map(({ metrics }) => [...metrics.values()]);
    const metrics = addUp([...told, this.#ended]).getMetricsAsArray();
    send(asking, { type: 'metrics', id, metrics });
  }
}

type Other = Worker | NodeJS.Process;

function send(other: Other, message: Message): void {
  // A process that has ended needs no message.
  other.send?.(message, undefined, undefined, () => undefined);
}

/** Rejects when the other process ends, or takes too long. */
async function askMetrics(other: Other, timeoutMs?: number): Promise<ToldMetric[]> {
  const signal = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const messages = on(other, 'message', { signal, close: ['exit', 'disconnect'] });
  const id = crypto.randomUUID();
  send(other, { type: 'ask', id });
  for await (const [message] of messages as AsyncIterable<[Message]>) {
    // The response to an earlier question may be older than what somebody else was shown since.
    if (message.type === 'metrics' && message.id === id) return message.metrics;
  }
  throw new Error('the other process has ended');
}

/** Where nothing listens yet. Workers can only share a port that has a number. */
async function freePort(host: string, port: number): Promise<number> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  const free = portOf(server);
  server.close();
  await once(server, 'close');
  return free;
}

const WORKER = 'SHORTLINK_WORKER_NUMBER';

/** The metrics of one of several processes, which show those of all. */
export class SharedMetrics extends Metrics {
  readonly #first: Other;

  /** @param first - the channel to the first process */
  constructor(first: Other = process) {
    super();
    this.#first = first;
    first.on('message', async (message: Message) => {
      if (message.type !== 'ask') return;
      send(first, { type: 'metrics', id: message.id, metrics: await super.families() });
    });
    const tell = () => send(first, { type: 'metrics', id: '', metrics: this.counted() });
    setInterval(tell, METRICS_MS).unref();
    // An error that nothing catches ends a process, too.
    first.once('exit', tell);
  }

  override families(): Promise<ToldMetric[]> {
    return askMetrics(this.#first);
  }
}

/** Serves as one of the processes that {@link startWorkers} has started, until that one stops it. */
export async function runWorker(
  settings: Settings,
  { env, logger: parent }: { env: NodeJS.ProcessEnv; logger: Logger },
): Promise<void> {
  // A worker that loses the first process ends what it does, instead of ending at once.
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
  const number = Number(env[WORKER]);
  const stopped = new Promise<void>((resolve) => {
    process.on('message', ({ type }: Message) => {
      if (type === 'stop') resolve();
    });
    process.once('disconnect', resolve);
  });
  const { databaseConnections, workers, linkCache } = settings;
  // What belongs to one process, each has for itself.
  const own = {
    ...settings,
    databaseConnections: Math.max(2, Math.floor(databaseConnections / workers)),
    linkCache: linkCache && number > 0 ? `${linkCache}.${number}` : linkCache,
  };
  const logger = parent.child({ worker: number });
  try {
    const server = await startCounting(own, { dev: false, logger }, new SharedMetrics());
    send(process, { type: 'serving' });
    logger.info({ pid: process.pid }, 'worker serves');
    await stopped;
    await server.stop();
  } finally {
    // The channel to the first process would keep this one alive, also where it can't start: nothing would replace it.
    if (process.connected) process.disconnect();
  }
}
