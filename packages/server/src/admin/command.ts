import type { Command } from 'commander';
import { databaseName } from '../setting-values.ts';
import { flagsOf, readSettings, type Settings, settingOptions } from '../settings.ts';
import type { DatabaseFacts } from '../store/operator-store.ts';
import type { Store } from '../store/store.ts';
import type { Terminal } from './help.ts';
import { safeJson, terminalSafe } from './output.ts';
import type { Row } from './tables.ts';

/** Exit codes of `shortlink-server`. */
export const EXIT = {
  ok: 0,
  /** The command was understood and could not be done: not found, taken, over the plan's limit, address in use. */
  failed: 1,
  /** A wrong command line or setting. */
  usage: 2,
} as const;

/** A command that could not be done; its message is for the operator. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

/** What commands may do to the world; tests bring their own. */
export interface CommandContext {
  env: Readonly<Record<string, string | undefined>>;
  stdin: AsyncIterable<Uint8Array | string>;
  /** One line on standard output: data only. */
  out: (line: string) => void;
  /** Text on standard output, as it is. Resolves once there is room for more. */
  write: (text: string) => Promise<void>;
  /** One line on standard error. */
  err: (line: string) => void;
  /** The terminal that standard output goes to. @default a pipe or a file */
  terminal?: Terminal | undefined;
  now: () => number;
  /** `migrate`: whether the database may be made, and its schema brought up to date. */
  openStore: (settings: Settings, migrate: boolean) => Promise<Store>;
  /** Brings the schema up to date; resolves to its version before and after. */
  migrate: (settings: Settings) => Promise<{ from: number; to: number }>;
  /** Looks at the database without changing it. */
  inspect: (settings: Settings) => Promise<DatabaseFacts>;
  /** Writes a copy of the database into a new file. */
  backup: (settings: Settings, file: string) => Promise<void>;
  /** Serves until the process is asked to stop. */
  start: (settings: Settings, options: { dev: boolean }) => Promise<void>;
}

/** What a command prints: `json` with `--json`, else `rows` or `record`, for people. With a `failure`, it fails after that. */
export type Printed = { failure?: string } & (
  | { json: readonly object[]; rows: readonly Row[] }
  | { json: object; record?: Row }
);

/** The settings of a command: its flags, then the environment. */
export function settingsOf(context: CommandContext, command: Command): Settings {
  return readSettings(flagsOf(command), context.env);
}

/** Says which database a command uses: in another folder, or with another environment, it is another one. */
export function sayDatabase({ err }: CommandContext, { database }: Settings): void {
  err(`database: ${terminalSafe(databaseName(database))}`);
}

/** Gives a command the options that all of these share, and prints what `act` makes of its arguments, if it is anything. */
export function onDatabase<A extends unknown[]>(
  context: CommandContext,
  command: Command,
  act: (settings: Settings, ...args: A) => Promise<Printed | undefined>,
): void {
  for (const option of settingOptions(['database', 'publicUrl'])) command.addOption(option);
  command.option('--json', 'print JSON').action(async (...args) => {
    // Commander passes the arguments and the options as they were declared.
    const printed = await act(settingsOf(context, command), ...(args as unknown[] as A));
    if (printed === undefined) return;
    if (command.opts<{ json?: boolean }>().json) context.out(safeJson(printed.json));
    else (await linesOf(printed, context.terminal?.columns)).forEach(context.out);
    if (printed.failure !== undefined) throw new CommandFailed(printed.failure);
  });
}

/** The same, with the database that the settings name. Without `--init`, it is neither made nor migrated. */
export function onStore<A extends unknown[]>(
  context: CommandContext,
  command: Command,
  act: (store: Store, ...args: A) => Promise<Printed | undefined>,
): void {
  onDatabase(context, command, async (settings, ...args: A) => {
    sayDatabase(context, settings);
    const { init = false } = command.opts<{ init?: boolean }>();
    const store = await context.openStore(settings, init);
    try {
      return await act(store, ...args);
    } finally {
      await store.close();
    }
  });
}

async function linesOf(printed: Printed, columns: number | undefined): Promise<string[]> {
  const { formatRecord, formatTable } = await import('./tables.ts');
  if ('rows' in printed) return formatTable(printed.rows, columns);
  return formatRecord(printed.record ?? { ...printed.json });
}
