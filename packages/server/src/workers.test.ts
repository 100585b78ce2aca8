import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';
import { addUp } from './metrics/metrics.ts';
import { Workers } from './workers.ts';

/** A process that tells so many redirects when it is asked. */
class FakeWorker extends EventEmitter {
  readonly process = Object.assign(new EventEmitter(), {
    ...{ stdout: null, stderr: null, kill: vi.fn<(signal: string) => void>() },
  });
  redirects = 0;
  shown: string | undefined;

  send(message: { type: string; id?: number; metrics?: { name: string }[] }): boolean {
    if (message.type === 'ask') this.tell(message.id);
    if (message.metrics !== undefined) {
      void addUp([message.metrics])
        .metrics()
        .then((text) => {
          this.shown = text;
        });
    }
    return true;
  }

  tell(id = 0): void {
    const values = [{ labels: {}, value: this.redirects }];
    const metrics = [{ name: 'redirects', help: '', type: 'counter', aggregator: 'sum', values }];
    setImmediate(() => this.emit('message', { type: 'metrics', id, metrics }));
  }
}

afterEach(() => {
  vi.useRealTimers();
});

/** Processes that serve at once. */
function startFake(count: number, forked: FakeWorker[], logged: object[] = []): Workers {
  return new Workers(count, {
    logger: { error: (line: object) => logged.push(line) } as never,
    writeLog: () => undefined,
    fork: () => {
      const worker = new FakeWorker();
      forked.push(worker);
      setImmediate(() => worker.emit('message', { type: 'serving' }));
      return worker as unknown as Worker;
    },
  });
}

test('what a worker has sent arrives after its end, and is not counted twice', async () => {
  const forked: FakeWorker[] = [];
  const workers = startFake(2, forked);
  await workers.start();
  const [ended, other] = forked as [FakeWorker, FakeWorker];
  const shown = async () => {
    other.shown = undefined;
    other.emit('message', { type: 'ask' });
    await expect.poll(() => other.shown).toBeDefined();
    return Number(/^redirects (\d+)$/m.exec(other.shown ?? '')?.[1]);
  };
  [ended.redirects, other.redirects] = [7, 5];
  expect(await shown()).toBe(12);
  ended.emit('exit', null, 'SIGKILL');
  expect(await shown()).toBe(12);
  ended.tell();
  expect(await shown()).toBe(12);
});

test('what a worker tells by itself is counted instead of what it told before, and nothing else is lost', async () => {
  const forked: FakeWorker[] = [];
  const workers = startFake(1, forked);
  await workers.start();
  const [worker] = forked as [FakeWorker];
  const tell = (name: string, value: number) => {
    const values = [{ labels: {}, value }];
    const metrics = [{ name, help: '', type: 'counter', aggregator: 'sum', values }];
    worker.emit('message', { type: 'metrics', id: '', metrics });
  };
  tell('redirects', 3);
  tell('seconds', 2);
  tell('redirects', 4);
  worker.emit('exit', null, 'SIGKILL');
  await expect.poll(() => forked.length).toBe(2);
  forked[1]?.emit('message', { type: 'ask' });
  await expect.poll(() => forked[1]?.shown).toMatch(/^redirects 4$/m);
  expect(forked[1]?.shown).toMatch(/^seconds 2$/m);
});

test('a worker that the system does not start is replaced, and takes no other with it', async () => {
  const forked: FakeWorker[] = [];
  // Without memory for another process, and while the file of the program is being replaced.
  const failures = ['spawn ENOMEM', 'spawn ENOENT'];
  const logged: unknown[] = [];
  const workers = new Workers(1, {
    logger: { error: ({ err }: { err?: Error }) => logged.push(err?.message) } as never,
    writeLog: () => undefined,
    fork: () => {
      const worker = new FakeWorker();
      const failure = forked.length === 0 ? undefined : failures.shift();
      if (failure === 'spawn ENOMEM') throw new Error(failure);
      forked.push(worker);
      setImmediate(() => {
        if (failure === undefined) worker.emit('message', { type: 'serving' });
        else worker.emit('error', new Error(failure));
      });
      return worker as unknown as Worker;
    },
  });
  await workers.start();
  forked[0]?.emit('exit', null, 'SIGKILL');
  await expect.poll(() => forked.length, { timeout: 5_000 }).toBe(3);
  expect(logged).toEqual([undefined, 'spawn ENOMEM', 'spawn ENOENT']);
});

test('a worker is replaced the later the more of them ended soon, and at once after one that has served', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const [forked, logged]: [FakeWorker[], object[]] = [[], []];
  const workers = startFake(1, forked, logged);
  await workers.start();
  for (const servedMs of [0, 29_899, 30_000, 0]) {
    vi.advanceTimersByTime(servedMs);
    forked.at(-1)?.emit('exit', 1, null);
    vi.advanceTimersByTime(200);
  }
  expect(logged).toMatchObject([
    { waitMs: 100 },
    { waitMs: 200 },
    { waitMs: 100 },
    { waitMs: 200 },
  ]);
});

test('a worker that ended before all are stopped is not replaced', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const forked: FakeWorker[] = [];
  const workers = startFake(1, forked);
  await workers.start();
  forked[0]?.emit('exit', null, 'SIGKILL');
  await workers.stop();
  vi.advanceTimersByTime(60_000);
  expect(forked).toHaveLength(1);
});

test('a worker that ends again and again is replaced every ten seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const [forked, logged]: [FakeWorker[], object[]] = [[], []];
  await startFake(1, forked, logged).start();
  for (let n = 0; n < 9; n += 1) {
    forked.at(-1)?.emit('exit', 1, null);
    vi.advanceTimersByTime(10_000);
  }
  expect(forked).toHaveLength(10);
  expect(logged.slice(-3)).toMatchObject([
    { waitMs: 6_400 },
    { waitMs: 10_000 },
    { waitMs: 10_000 },
  ]);
});

test('a worker that does not start takes those that serve with it', async () => {
  const forked: FakeWorker[] = [];
  const workers = new Workers(2, {
    logger: { error: () => undefined } as never,
    writeLog: () => undefined,
    fork: (number) => {
      const worker = new FakeWorker();
      forked.push(worker);
      setImmediate(() => {
        if (number === 0) worker.emit('message', { type: 'serving' });
        else worker.emit('exit', 1, null);
      });
      return worker as unknown as Worker;
    },
  });
  await expect(workers.start()).rejects.toThrow('a worker ended with code 1');
  expect(forked[0]?.process.kill).toHaveBeenCalledExactlyOnceWith('SIGKILL');
});

test('a stop waits for the last lines that a worker logs, which may come after its end', async () => {
  const forked: FakeWorker[] = [];
  const workers = startFake(1, forked);
  await workers.start();
  const onStopped = vi.fn<() => void>();
  const stopping = workers.stop().then(onStopped);
  forked[0]?.process.emit('exit', 0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(onStopped).not.toHaveBeenCalled();
  forked[0]?.process.emit('close', 0);
  await stopping;
});

test('the metrics are those at the time of the question, whatever a worker has told by itself since', async () => {
  const forked: FakeWorker[] = [];
  await startFake(2, forked).start();
  const [asking, slow] = forked as [FakeWorker, FakeWorker];
  const { tell } = slow;
  slow.redirects = 1;
  slow.tell = (id) => {
    tell.call(slow);
    setTimeout(() => {
      slow.redirects = 2;
      tell.call(slow, id);
    }, 20);
  };
  asking.emit('message', { type: 'ask' });
  await expect.poll(() => asking.shown).toMatch(/^redirects 2$/m);
});

test('the metrics do not wait for a worker that hangs: its last ones are shown', async () => {
  const forked: FakeWorker[] = [];
  await startFake(2, forked).start();
  const [asking, hanging] = forked as [FakeWorker, FakeWorker];
  hanging.redirects = 3;
  hanging.tell();
  hanging.send = () => true;
  asking.emit('message', { type: 'ask' });
  await expect.poll(() => asking.shown, { timeout: 30_000 }).toMatch(/^redirects 3$/m);
});
