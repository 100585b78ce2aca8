import type { Store } from '../../src/inner-server.ts';
import type { Random } from '../kernel/random.ts';
import type { Owner, Scheduler } from '../kernel/scheduler.ts';
import type { Failover } from './failover.ts';
import type { Server } from './load-server.ts';
import { newPostgresBase } from './postgres-base.ts';
import { SqliteBase } from './sqlite-base.ts';

/** What the simulation decides about faults of the database, and wants to hear of it. */
export interface BaseEvents {
  /** Whether something of this share fails now. It is noted as a fault. */
  fails: (share: number) => boolean;
  /** A commit that failed may have been carried out, so that what is repeated may count twice. */
  onDoubt: () => void;
  onCommit: () => Promise<void>;
  /** What must never happen. */
  onWrong: (what: string) => void;
  generateCode: () => string;
}

/** The database that all instances of a history share. */
export interface Base {
  /** How long after a leap of time calls may fail without a fault, in milliseconds, since those before them waited for too long. */
  hurryMs: number;
  /** Whether faults happen to reads too. */
  readsFail: boolean;
  /** How its standby takes over. @default it has none */
  failover?: Failover | undefined;
  /** Rows of the database, past the service. */
  rows: <T extends object>(sql: string, ...values: (string | number)[]) => Promise<T[]>;
  /**
   * A store as a process of its own has it.
   *
   * @param mayFail - whether faults happen to its writes
   */
  openStore: (owner: Owner, mayFail: boolean) => Store;
  /** The process has died. */
  forget: (owner: Owner) => void;
  close: () => Promise<void>;
}

/** Makes the database of a history. */
export type MakeBase = (events: BaseEvents, scheduler: Scheduler) => Base;

/**
 * The database is that of the engine for which the server was loaded.
 *
 * @param hasStandby - whether another one may take over from it
 */
export async function newBase(
  server: Server,
  random: Random,
  hasStandby: boolean,
): Promise<MakeBase> {
  const { postgres } = server;
  if (postgres !== undefined) return newPostgresBase(postgres, server, random, hasStandby);
  return (events, { now }) => new SqliteBase(server, random, events, now);
}
