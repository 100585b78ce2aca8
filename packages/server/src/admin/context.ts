import type { Command } from 'commander';
import { type RawSettings, readSettings, type Settings } from '../config.ts';
import type { Store } from '../store/store.ts';

/** What commands may do to the world; tests hand in their own. */
export interface CommandContext {
  env: Readonly<Record<string, string | undefined>>;
  /** One line on standard output: data only. */
  out: (line: string) => void;
  /** One line on standard error. */
  err: (line: string) => void;
  now: () => number;
  openStore: (settings: Settings) => Promise<Store>;
  /** Brings the schema up to date; resolves to its version before and after. */
  migrate: (settings: Settings) => Promise<{ from: number; to: number }>;
  /** Writes a copy of the database into a new file. */
  backup: (settings: Settings, file: string) => Promise<void>;
  /** Serves until it is told to stop. */
  start: (settings: Settings, options: { dev: boolean }) => Promise<void>;
}

/** Options of every command that works on a database. */
export interface StoreOptions extends RawSettings {
  json?: boolean;
}

/** Adds a command that works on a database, with the options all of these share. */
export function storeCommand(parent: Command, usage: string, description: string): Command {
  return parent
    .command(usage)
    .description(description)
    .option('--database <url>', 'database, such as sqlite:./shortlink.db [SHORTLINK_DATABASE_URL]')
    .option('--public-url <url>', 'origin of short URLs [SHORTLINK_PUBLIC_URL]')
    .option('--json', 'print JSON');
}

/** Opens the database that the settings name, for the time of one command. */
export async function withStore<T>(
  context: CommandContext,
  options: StoreOptions,
  act: (store: Store, settings: Settings) => Promise<T>,
): Promise<T> {
  const settings = readSettings(options, context.env);
  const store = await context.openStore(settings);
  try {
    return await act(store, settings);
  } finally {
    await store.close();
  }
}
