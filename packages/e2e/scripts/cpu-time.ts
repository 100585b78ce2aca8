import { readdir, readFile } from 'node:fs/promises';

/** Clock ticks of a second (`getconf CLK_TCK`). It is 100 on every usual Linux. */
const TICKS_PER_SECOND = 100;

interface ProcessTimes {
  pid: number;
  parent: number;
  ticks: number;
}

/** CPU seconds that these processes and their children, ended ones included, have used so far. Linux only. */
export async function cpuSeconds(pids: readonly number[]): Promise<number> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const processes = await Promise.all(names.map((name) => readTimes(Number(name))));
  let ticks = 0;
  for (const times of processes) {
    if (times === undefined) continue;
    if (pids.includes(times.pid) || pids.includes(times.parent)) ticks += times.ticks;
  }
  return ticks / TICKS_PER_SECOND;
}

/** See proc_pid_stat(5): the name may hold spaces, so fields are counted from its closing bracket. */
async function readTimes(pid: number): Promise<ProcessTimes | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system, childUser, childSystem] = fields.slice(11, 15).map(Number);
  const ticks = (user ?? 0) + (system ?? 0) + (childUser ?? 0) + (childSystem ?? 0);
  return { pid, parent: Number(fields[1]), ticks };
}
