import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Contender } from '../frame/rounds.ts';
import type { SectionContext } from '../frame/section.ts';
import type { InsertRun } from './insert-loop.ts';

/** A running server that links can be made on. */
export interface Target {
  name: string;
  url: string;
  pid: number;
  apiKey: string;
}

/** The floors: what answers the same requests and does nothing else. */
const FLOORS = {
  'node:http': new URL('./floor-http.ts', import.meta.url),
  Hono: new URL('./floor-hono.ts', import.meta.url),
  'node:http, a commit each': new URL('./floor-http.ts', import.meta.url),
} as const;

export const SERVER_PROGRAM = fileURLToPath(
  import.meta.resolve('@shortlink/server/package.json'),
).replace(/package\.json$/, 'dist/main.js');

export const OURS = 'shortlink-server';

/** The two floors and the built server on a fresh database. */
export async function startTargets(context: SectionContext): Promise<Target[]> {
  return [...(await startFloors(context)), await startOurs(context)];
}

export async function startFloors(context: SectionContext): Promise<Target[]> {
  return [await startFloor(context, 'node:http'), await startFloor(context, 'Hono')];
}

/** A server that commits once per request, as most servers do. */
export function startCommitEach(context: SectionContext): Promise<Target> {
  return startFloor(context, 'node:http, a commit each', join(context.directory, 'each.db'));
}

async function startFloor(
  { children }: SectionContext,
  name: keyof typeof FLOORS,
  ...args: string[]
): Promise<Target> {
  const child = await children.start(FLOORS[name], args);
  return { name, url: await child.ask<string>('url'), pid: child.pid, apiKey: 'none' };
}

/** The built program with its own defaults, as `shortlink-server start` runs; its log goes nowhere. */
export async function startOurs(
  context: SectionContext,
  database = `sqlite:${join(context.directory, 'shortlink.db')}`,
): Promise<Target & { stop: () => Promise<void> }> {
  const { pid, output, stop } = await context.children.startUntil(
    SERVER_PROGRAM,
    ['start', '--port', '0', '--database', database, '--dev'],
    /^listening on /,
  );
  const url = /^listening on (\S+)$/m.exec(output)?.[1];
  const apiKey = /^api key: (\S+)$/m.exec(output)?.[1];
  if (url === undefined) throw new Error(`no address in ${output}`);
  // `--dev` prints the key of a new database only.
  return { name: OURS, url, pid, apiKey: apiKey ?? '', stop };
}

/** The bare insert loop as a contender; its rate goes into `column`. */
export async function insertContender(
  { children, directory }: SectionContext,
  name: string,
  column: string,
  run: InsertRun,
): Promise<Contender> {
  const program = new URL('./insert-loop.ts', import.meta.url);
  const file = join(directory, `insert-${run.perCommit}.db`);
  const loop = await children.start(program, [file]);
  return {
    name,
    measure: async () => {
      const { ms } = await loop.ask<{ ms: number }>(run);
      return { [column]: (run.links / ms) * 1000 };
    },
  };
}
