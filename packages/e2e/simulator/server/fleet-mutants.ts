import { type Mutant, one } from './mutant.ts';

const WORKERS = 'workers.ts';

/** Bugs of the process that starts workers. */
export const fleetMutants: Readonly<Record<string, Mutant>> = {
  'worker-not-replaced': one(
    'A worker that ended while it started is not replaced once more.',
    WORKERS,
    'if (this.#isStopping || slot.failures === undefined) return;',
    'if (this.#isStopping || slot.failures === undefined || slot.failures > 1) return;',
  ),
  'replaced-while-stopping': one(
    'A worker that ends because the server stops is replaced.',
    WORKERS,
    'if (this.#isStopping || slot.failures === undefined) return;',
    'if (slot.failures === undefined) return;',
  ),
  'start-after-the-end': one(
    'A worker that was waiting to be started is started after the end.',
    WORKERS,
    'for (const { timer } of this.#slots) clearTimeout(timer);',
    '',
  ),
  'waits-do-not-double': one(
    'A worker that ends again and again is started ten times a second.',
    WORKERS,
    'slot.failures = isEarly ? slot.failures + 1 : 1;',
    'slot.failures = 1;',
  ),
  'waits-without-end': one(
    'The waits between starts double without a limit.',
    WORKERS,
    'Math.min(RESTART_MS.first * 2 ** (slot.failures - 1), RESTART_MS.most)',
    'RESTART_MS.first * 2 ** (slot.failures + 4)',
  ),
  'counters-of-the-dead-forgotten': one(
    'Metrics fall when a worker ends.',
    WORKERS,
    'this.#ended = addUp([this.#ended, countersOf(slot.metrics.values())]).getMetricsAsArray();',
    '',
  ),
  'counters-of-the-last-dead': one(
    'Metrics remember the worker that ended last, and none before.',
    WORKERS,
    'addUp([this.#ended, countersOf(slot.metrics.values())]).getMetricsAsArray()',
    'countersOf(slot.metrics.values())',
  ),
  'counters-twice': one(
    'What a worker told before it ended counts for the one that replaces it, too.',
    WORKERS,
    'slot.metrics.clear();\n        reject',
    'reject',
  ),
  'counted-after-the-end': one(
    'What a worker has sent is taken for that of the one that replaces it.',
    WORKERS,
    "message.type === 'metrics' && slot.worker === worker",
    "message.type === 'metrics'",
  ),
  'metrics-of-before': one(
    'Whoever asks for metrics while others do is shown the older ones.',
    WORKERS,
    "message.type === 'metrics' && message.id === id",
    "message.type === 'metrics'",
  ),
  'metrics-of-one': one(
    'A worker shows its own metrics.',
    WORKERS,
    'return askMetrics(this.#first);',
    'return super.families();',
  ),
};
