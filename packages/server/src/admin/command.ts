import type { Command } from 'commander';
import { databaseName } from '../setting-values.ts';
import { flagsOf, readSettings, type Settings, settingOptions } from '../settings.ts';
import type { DatabaseFacts } from '../store/operator-store.ts';
import type { Store } from '../store/store.ts';
import { examples, type Terminal } from './help.ts';
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
  /** One line on standard output: data only. */
  out: (line: string) => void;
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

/** What a command prints: `json` with `--json`, else `rows` or `record`, for people. */
export type Printed =
  | { json: readonly object[]; rows: readonly Row[] }
  | { json: object; record?: Row };

/** Adds a command that works on a database, with the options that all of these share, and examples of its use. */
export function databaseCommand(
  parent: Command,
  usage: string,
  description: string,
  ...lines: readonly string[]
): Command {
  const command = parent.command(usage).description(description);
  for (const option of settingOptions(['database', 'publicUrl'])) command.addOption(option);
  return examples(command.option('--json', 'print JSON'), ...lines);
}

/** The settings of a command: its flags, then the environment. */
export function settingsOf(context: CommandContext, command: Command): Settings {
  return readSettings(flagsOf(command), context.env);
}

/** Says which database a command uses: in another folder, or with another environment, it is another one. */
export function sayDatabase({ err }: CommandContext, { database }: Settings): void {
  err(`database: ${terminalSafe(databaseName(database))}`);
}

/**
 * Opens the database that the settings name, for the time of one command, and prints what `act` resolves to. Without `--init`, it is neither
 * made nor migrated.
 */
export async function runOnStore(
  context: CommandContext,
  command: Command,
  act: (store: Store, settings: Settings) => Promise<Printed>,
): Promise<void> {
  const settings = settingsOf(context, command);
  sayDatabase(context, settings);
  const store = await context.openStore(settings, command.opts<{ init?: boolean }>().init === true);
  try {
    await print(context, command, await act(store, settings));
  } finally {
    await store.close();
  }
}

export async function print(
  context: CommandContext,
  command: Command,
  printed: Printed,
): Promise<void> {
  if (command.opts<{ json?: boolean }>().json) {
    context.out(safeJson(printed.json));
    return;
  }
  const { formatRecord, formatTable } = await import('./tables.ts');
  const lines =
    'rows' in printed
      ? formatTable(printed.rows, context.terminal?.columns)
      : formatRecord(printed.record ?? { ...printed.json });
  lines.forEach(context.out);
}
