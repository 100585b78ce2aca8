import { HEADERS } from '@shortlink/sdk/wire';
import type { Command } from 'commander';
import { databaseName } from '../setting-values.ts';
import { publicUrlOf, type Settings } from '../settings.ts';
import type { DatabaseFacts } from '../store/operator-store.ts';
import {
  type CommandContext,
  CommandFailed,
  databaseCommand,
  print,
  settingsOf,
} from './command.ts';

/** One thing that was looked at; `todo` where something should be done about it. */
interface Finding {
  check: string;
  found: string;
  todo?: string | undefined;
}

/** How far clocks may differ, in milliseconds: the windows of limits then begin at other times on each instance. */
const MAX_CLOCK_DIFFERENCE_MS = 1_000;

/** Space that a disk should have beside that of a backup, in bytes. */
const MIN_FREE_BYTES = 1024 ** 3;

/** How long the public URL may take to respond, in milliseconds. */
const PROBE_TIMEOUT_MS = 5_000;

export function registerDoctor(program: Command, context: CommandContext): void {
  const description =
    'Look at the settings and the database, change nothing, and say what should be done. Exit code 1 if anything should.';
  databaseCommand(program, 'doctor', description, 'doctor').action(async (_, command: Command) => {
    const settings = settingsOf(context, command);
    const findings = [...(await checkDatabase(context, settings)), await checkPublicUrl(settings)];
    const rows = findings.map(({ check, found, todo = 'nothing' }) => ({ check, found, todo }));
    await print(context, command, { json: rows, rows });
    const open = findings.filter(({ todo }) => todo !== undefined).length;
    if (open > 0) throw new CommandFailed(`${open} of ${findings.length} checks ask for something`);
  });
}

async function checkDatabase(context: CommandContext, settings: Settings): Promise<Finding[]> {
  const database = { check: 'database', found: databaseName(settings.database) };
  try {
    const facts = await context.inspect(settings);
    return [
      database,
      checkSchema(facts),
      ...checkConnections(facts, settings),
      ...checkClock(facts),
      ...checkDisk(facts),
    ];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [{ ...database, todo: `${reason} Name the right one with SHORTLINK_DATABASE_URL.` }];
  }
}

function checkSchema({ version, newest }: DatabaseFacts): Finding {
  const schema = { check: 'schema', found: `version ${version}, this program has ${newest}` };
  if (version === newest) return schema;
  const older = 'run shortlink-server migrate, or start the server';
  return {
    ...schema,
    todo: version < newest ? older : 'use the version of shortlink-server that migrated it',
  };
}

/** The time limits hold where a database could be looked at: without them, it is refused. */
function checkConnections(
  { connections, isPooled }: DatabaseFacts,
  { databaseConnections: ours }: Settings,
): Finding[] {
  if (connections === undefined) return [];
  const { most, used } = connections;
  const pooler = {
    check: 'pooler',
    found: `${isPooled ? 'a pooler is in between' : 'none'}; time limits hold`,
  };
  const found = `${used} of ${most} in use, ${ours} for each instance`;
  const instances = Math.floor(most / ours);
  const todo = `at most ${instances} can run at a time, and a deployment doubles them: lower SHORTLINK_DATABASE_CONNECTIONS, or raise max_connections`;
  return [pooler, { check: 'connections', found, ...(instances < 4 && { todo }) }];
}

function checkClock({ clockAheadMs }: DatabaseFacts): Finding[] {
  if (clockAheadMs === undefined) return [];
  const differs = Math.abs(clockAheadMs) > MAX_CLOCK_DIFFERENCE_MS;
  const side = clockAheadMs > 0 ? 'behind' : 'ahead of';
  const todo = 'let NTP set the clocks: limits begin at other times on each instance';
  return [
    {
      check: 'clock',
      found: `${Math.abs(clockAheadMs)} ms ${side} the database`,
      ...(differs && { todo }),
    },
  ];
}

function checkDisk({ disk }: DatabaseFacts): Finding[] {
  if (disk === undefined) return [];
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  const found = `${gigabytes(disk.free)} free, the database has ${gigabytes(disk.used)}`;
  const isShort = disk.free < disk.used + MIN_FREE_BYTES;
  const todo = 'make space: a backup or a migration needs as much as the database has';
  return [{ check: 'disk', found, ...(isShort && { todo }) }];
}

/** Asks whether a service responds at the address that short URLs begin with. */
async function checkPublicUrl(settings: Settings): Promise<Finding> {
  const url = publicUrlOf(settings);
  const check = 'public URL';
  if (settings.publicUrl === undefined) {
    return {
      check,
      found: url,
      todo: 'set SHORTLINK_PUBLIC_URL: nobody else can follow such short URLs',
    };
  }
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  const response = await fetch(`${url}/healthz`, { signal, redirect: 'manual' }).catch(
    (error: unknown) => error,
  );
  if (response instanceof Response && response.ok && response.headers.has(HEADERS.requestId)) {
    return { check, found: `${url} responds` };
  }
  const found = response instanceof Response ? `status ${response.status}` : 'no response';
  return {
    check,
    found: `${url}/healthz: ${found}`,
    todo: 'check DNS, certificate and proxy, and that the server runs',
  };
}
