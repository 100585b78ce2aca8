import type { Random } from '../random.ts';
import type { Server } from './load-server.ts';
import { newPostgresBase } from './postgres-base.ts';
import { SqliteBase } from './sqlite-base.ts';
import type { MakeBase } from './world.ts';

/** The database of a history, on the engine that the server was loaded for. */
export async function newBase(server: Server, random: Random): Promise<MakeBase> {
  const { postgres } = server;
  if (postgres !== undefined) return newPostgresBase(postgres, server, random);
  return (events, { now }) => new SqliteBase(server, random, events, now);
}
