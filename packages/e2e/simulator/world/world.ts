import type { ImportDeps, ImportSettings, ImportSummary } from '../../../cli/src/import/types.ts';
import { Random } from '../kernel/random.ts';
import { type Owner, Scheduler, scopeNow } from '../kernel/scheduler.ts';
import type { Disk } from './disk.ts';
import type { Network } from './network.ts';

/** Thrown inside a program that has been killed, so that its synchronous code ends too. Nothing that it does then has an effect. */
export const KILLED = Symbol('killed');

/** 2026-01-30T22:00:00Z: two hours before a day ends, and two days before a month does. */
export const EPOCH_MS = Date.UTC(2026, 0, 30, 22);

/** A point at which a program can be killed, or a disk can fail. */
export interface DiskFault {
  /** Number of the disk operation, from 1. Where only some kinds of them can fail so, it is the first of these from there on. */
  step: number;
  code: 'ENOSPC' | 'EIO' | 'EMFILE';
  /** Whether all later ones fail as well, as on a disk that stays full. */
  stays: boolean;
  /** What fails alone: a sync, or a commit that is carried out nevertheless, and perhaps synced. @default whatever comes */
  only?: 'fsync' | 'commit kept' | 'commit kept unsynced' | undefined;
}

/** Where a program is killed. */
export interface Kill {
  /** Number of the operation, from 1. */
  step: number;
  /** Which operations are counted. @default all of them */
  only?: 'fsync' | 'ftruncate' | 'rename' | 'rm' | undefined;
  isAfter: boolean;
  isPowerCut: boolean;
}

/** A program is now and then kept waiting for its turn, and taken for one that never ends after so many steps. */
const ORDER = { leaps: { share: 0.02, mostMs: 250 }, mostSteps: 1_000_000 } as const;

/** Whose work it is that belongs to no program: that of the network, the service, and of time that goes by. */
export const ELSEWHERE: Owner = { name: 'elsewhere', isAlive: true };

/** A run of the program, from its start to its end or to the moment it is killed. */
export class Process implements Owner {
  isAlive = true;
  /** Operations on the disk, the network and timers so far, or those of one kind: at each of them it can be killed. */
  steps = 0;
  diskSteps = 0;
  /** The event in which it was killed. */
  killedAt: number | undefined;
  /** Whether a write of its journal has failed: then what it got to know afterwards may be lost. */
  journalFailedAt: number | undefined;
  /** Whether an operation of its disk has failed. */
  hasFailed = false;
  readonly name: string;
  readonly killAt: Kill | undefined;
  readonly diskFault: DiskFault | undefined;
  readonly onExit: (() => void)[] = [];
  /** Paths of the files that it has open. */
  readonly openFiles: string[] = [];
  /** What the command line starts, where it was started with one. */
  runImport: ((settings: ImportSettings, deps: ImportDeps) => Promise<ImportSummary>) | undefined;
  /** Called when it was killed, before another program can use what it has left. */
  onKilled: (() => void) | undefined;

  constructor(
    name: string,
    faults: { killAt?: Process['killAt']; diskFault?: DiskFault | undefined } = {},
  ) {
    this.name = name;
    this.killAt = faults.killAt;
    this.diskFault = faults.diskFault;
  }
}

/** Everything that a scenario's programs live in: time, a disk, and whoever is running. */
export class World {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly disk: Disk;
  /** What programs call that bring no `fetch` of their own. */
  fetch: Network['fetch'] = () => Promise.reject(new Error('there is no network'));
  /** Lines for a person; undefined where nobody reads them. */
  readonly trace: string[] | undefined;

  constructor(seed: number, disk: Disk, isTraced: boolean) {
    const random = new Random(seed, 1);
    this.random = random;
    this.scheduler = new Scheduler({ start: EPOCH_MS, random, ...ORDER });
    this.disk = disk;
    this.trace = isTraced ? [] : undefined;
  }

  /** @param text - made only where somebody reads it */
  log(text: () => string): void {
    this.trace?.push(`${(this.scheduler.elapsed / 1000).toFixed(3).padStart(12)} s  ${text()}`);
  }

  /** The program that runs now. Code outside of one has no business with its disk and timers. */
  get process(): Process {
    const owner = scopeNow()?.owner;
    if (owner instanceof Process) return owner;
    throw new Error('no program of the simulation is running');
  }

  /** Kills the program. Where the power fails, the disk loses what was not synced. */
  kill(process: Process, isPowerCut: boolean): void {
    if (!process.isAlive) return;
    process.killedAt = this.scheduler.turn;
    this.log(() => `--- ${process.name} is killed${isPowerCut ? ' by a power cut' : ''}`);
    this.exit(process);
    if (isPowerCut) this.disk.losePower();
    process.onKilled?.();
  }

  /** The program has ended: what it held open is closed. */
  exit(process: Process): void {
    if (!process.isAlive) return;
    process.isAlive = false;
    for (const end of process.onExit) end();
  }

  /** A synchronous operation, before and after which the program can be killed. */
  step<T>(what: string, path: string, work: () => T): T {
    const { process } = this;
    if (!process.isAlive) throw KILLED;
    const step = this.#begin(process, what, path);
    const result = work();
    if (process.killAt?.step === step) this.#killHere(process, what, path, true);
    return result;
  }

  /**
   * An operation that takes time. The promise of a program that is killed meanwhile never settles, and so nothing that waits for it
   * continues.
   *
   * @param work - returns or throws its error
   */
  wait<T>(what: string, path: string, delayMs: number, work: () => T | Error): Promise<T> {
    const { process } = this;
    return new Promise((resolve, reject) => {
      if (!process.isAlive) return;
      let step: number;
      try {
        step = this.#begin(process, what, path);
      } catch {
        return;
      }
      this.scheduler.after(delayMs, process, () => {
        try {
          const result = work();
          if (result instanceof Error) return reject(result);
          if (process.killAt?.step === step) this.#killHere(process, what, path, true);
          resolve(result);
        } catch (error) {
          if (error !== KILLED) reject(error);
        }
      });
    });
  }

  #begin(process: Process, what: string, path: string): number {
    const { only = what } = process.killAt ?? {};
    if (only !== what) return 0;
    process.steps += 1;
    const step = process.steps;
    if (process.killAt?.step === step) this.#killHere(process, what, path, false);
    return step;
  }

  #killHere(process: Process, what: string, path: string, isAfter: boolean): void {
    const { killAt } = process;
    if (killAt === undefined || killAt.isAfter !== isAfter) return;
    this.log(() => `${isAfter ? 'after' : 'before'} ${what} ${path}:`);
    this.kill(process, killAt.isPowerCut);
    throw KILLED;
  }

  /** Counts an operation of the disk, and fails where the scenario wants it to. */
  diskStep(what: string, path: string, isWrite: boolean): void {
    const { process } = this;
    process.diskSteps += 1;
    const { diskFault } = process;
    if (diskFault === undefined || process.diskSteps < diskFault.step) return;
    const kind = diskFault.code === 'EMFILE' ? 'open' : diskFault.only;
    if (kind === undefined ? process.diskSteps > diskFault.step : process.hasFailed) {
      if (!diskFault.stays) return;
    }
    if (kind !== undefined && !kind.startsWith(what)) return;
    if (diskFault.code === 'ENOSPC' && !isWrite) return;
    process.hasFailed = true;
    this.log(() => `${what} ${path}: ${diskFault.code}`);
    throw Object.assign(new Error(`${diskFault.code}: ${what} '${path}'`), {
      code: diskFault.code,
      syscall: what,
      path,
    });
  }
}

let current: World | undefined;

/** The world of the scenario that is being played. The stand-ins for Node's modules have no other way to it. */
export function theWorld(): World {
  if (current === undefined) throw new Error('no scenario is being played');
  return current;
}

export function enterWorld(world: World): void {
  current = world;
}
