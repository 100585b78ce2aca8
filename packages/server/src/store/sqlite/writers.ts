import { setImmediate } from 'node:timers';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../start-thread.ts';
import { buffersOf } from '../links.ts';
import type { CreateJobRequest } from '../store.ts';
import { OF_ONE_WRITE, StoreError } from '../store-error.ts';
import type { OperationName } from './engine.ts';
import type { WriteCore, WriteReply, WriteRequest } from './write-core.ts';
import type { WriterThreadData, WriterThreadMessage, WriterThreadReply } from './writer-thread.ts';

/** Writes sent before the turn ends, so that the writer commits the first of a long turn while the rest is still read and checked. */
const MOST_TOGETHER = 16;

interface Waiting {
  request: WriteRequest;
  resolve: (value: unknown) => void;
  reject: (error: StoreError) => void;
}

const PROBE_MS = 1_000;

/**
 * Collects the writes of a turn, sends them together, and settles each promise when its reply comes. After a failure, it writes a page of its own every
 * second until one is taken, so that a service without requests learns too that there is space again.
 */
export class WriteQueue {
  readonly #send: (requests: WriteRequest[]) => void;
  readonly #sent = new Map<number, Waiting>();
  #outbox: Waiting[] = [];
  #lastId = 0;
  #closed = false;
  /** While the last write failed because of the database. */
  #probe: NodeJS.Timeout | undefined;

  constructor(send: (requests: WriteRequest[]) => void) {
    this.#send = send;
  }

  /** Whether nothing waits for its reply, and more may come. */
  get isIdle(): boolean {
    return this.#sent.size === 0 && this.#outbox.length === 0 && !this.#closed;
  }

  get isHealthy(): boolean {
    return this.#probe === undefined;
  }

  async submit(name: OperationName, ...args: unknown[]): Promise<unknown> {
    if (this.#closed) throw new StoreError('closed', 'The store was closed.');
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      if (this.#outbox.length === 0) setImmediate(() => this.#flush());
      this.#outbox.push({ request: { id, name, args }, resolve, reject });
      if (this.#outbox.length === MOST_TOGETHER) this.#flush();
    });
  }

  settle(replies: readonly WriteReply[]): void {
    for (const reply of replies) {
      const waiting = this.#sent.get(reply.id);
      this.#sent.delete(reply.id);
      if (reply.ok) {
        clearTimeout(this.#probe);
        this.#probe = undefined;
        waiting?.resolve(reply.value);
      } else this.#reject(waiting, new StoreError(reply.reason, reply.message));
    }
  }

  /** Rejects everything that was sent and waits for its reply. What was only collected is still sent. */
  fail(error: StoreError): void {
    const lost = [...this.#sent.values()];
    this.#sent.clear();
    for (const waiting of lost) this.#reject(waiting, error);
  }

  /** Sends what was collected. Later submits reject. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#probe);
    this.#flush();
  }

  #flush(): void {
    const writes = this.#outbox;
    if (writes.length === 0) return;
    this.#outbox = [];
    for (const write of writes) this.#sent.set(write.request.id, write);
    this.#send(writes.map(({ request }) => request));
  }

  #reject(waiting: Waiting | undefined, error: StoreError): void {
    waiting?.reject(error);
    if (OF_ONE_WRITE.includes(error.reason) || this.#closed) return;
    clearTimeout(this.#probe);
    // When the probe fails, the next one is scheduled.
    this.#probe = setTimeout(() => this.submit('probe').catch(() => undefined), PROBE_MS);
    this.#probe.unref();
  }
}

/** Runs writes one group after another, and resolves each when it is durable (see `WriteCore`). */
export type Writer = Pick<WriteQueue, 'submit' | 'isHealthy' | 'close'>;

/** Writes on the thread that asks. For `:memory:`, where nothing waits for a disk and no second connection can see the data. */
export class InlineWriter extends WriteQueue {
  constructor(core: WriteCore) {
    super((requests) => {
      let left = requests;
      while (left.length > 0) left = core.run(left, (replies) => this.settle(replies));
    });
  }
}

/** Writes on a thread. Should it end, the outcome of what was posted is unknown, since it may have been committed, and a new one is started. */
export class ThreadWriter extends WriteQueue {
  readonly #data: WriterThreadData;
  #worker: Worker | undefined;

  /** Resolves once the thread takes writes, or has ended: then the next write says why. */
  readonly started: Promise<unknown>;

  constructor(data: WriterThreadData) {
    super((requests) => this.#post(requests));
    this.#data = data;
    const worker = this.#start();
    this.#worker = worker;
    this.started = new Promise((resolve) => {
      worker.once('message', resolve).once('exit', resolve);
    });
  }

  override async close(): Promise<void> {
    await super.close();
    const worker = this.#worker;
    if (worker === undefined) return;
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    this.#post('close');
    await exited;
  }

  #post(message: WriterThreadMessage): void {
    this.#worker ??= this.#start();
    // The thread keeps the process alive only while a reply is awaited.
    this.#worker.ref();
    const jobs = message === 'close' ? [] : message.filter(({ name }) => name === 'createJob');
    this.#worker.postMessage(
      message,
      jobs.flatMap(({ args: [job] }) => buffersOf((job as CreateJobRequest).input)),
    );
  }

  #start(): Worker {
    const worker = startThread('writer-thread', import.meta.url, { workerData: this.#data });
    let cause: unknown;
    let ready = false;
    worker.on('message', (reply: WriterThreadReply) => {
      if (reply === 'ready') ready = true;
      else this.settle(reply);
      if (this.isIdle) worker.unref();
    });
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => {
      this.#worker = undefined;
      const reason = ready ? 'outcome_unknown' : 'unavailable';
      const detail = cause instanceof Error ? `: ${cause.message}` : '.';
      this.fail(new StoreError(reason, `The writer thread ended${detail}`, { cause }));
    });
    return worker;
  }
}
