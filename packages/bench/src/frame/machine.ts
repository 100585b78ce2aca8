import { availableParallelism, cpus, loadavg } from 'node:os';

/** The machine that the figures were measured on. */
export interface Machine {
  date: string;
  node: string;
  platform: string;
  cpu: string;
  cores: number;
}

export function describeMachine(): Machine {
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
  };
}

/** Processes that wanted to run in the last minute, on average. Above the number of cores they wait for one another. */
export function loadAverage(): number {
  return loadavg()[0] ?? Number.NaN;
}
