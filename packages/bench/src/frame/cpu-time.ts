import { readFileSync } from 'node:fs';

/** Linux counts the processor time of a process in ticks of 1/100 s (proc(5), `utime` and `stime`). */
const MS_PER_TICK = 10;

/** Processor time a process has used so far, over all its threads, in milliseconds; NaN where the system doesn't say. */
export function cpuTimeMs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field, the program's name in brackets, may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  } catch {
    return Number.NaN;
  }
}

/** Largest memory a process has held so far, in MB; NaN where the system doesn't say. */
export function peakMemoryMb(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024;
  } catch {
    return Number.NaN;
  }
}
