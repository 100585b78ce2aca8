import { styleText } from 'node:util';
import { Command, type Option } from 'commander';
import type { DatabaseTools } from '../open-store.ts';
import { databaseName } from '../setting-values.ts';
import { flagsOf, publicUrlOf, readSettings, SETTINGS, type Settings } from '../settings.ts';
import type { Store } from '../store/store.ts';
import { safeJson, terminalSafe } from './output.ts';

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
  /** What `--json` prints of it; `null` where it has printed already. @default the message */
  readonly json: object | null;

  constructor(message: string, json: object | null = {}) {
    super(message);
    this.json = json && { error: message, ...json };
  }
}

/** @throws CommandFailed where there is none */
export function found<T>(value: T | undefined, what: string, id: string): T {
  if (value === undefined) throw new CommandFailed(`${what} ${JSON.stringify(id)} not found`);
  return value;
}

/** What commands may do to the world; tests bring their own. */
export interface CommandContext {
  env: Readonly<Record<string, string | undefined>>;
  stdin: AsyncIterable<Uint8Array | string>;
  /** Text on standard output, as it is: data only. Resolves once there is room for more, and rejects where it can't be written. */
  write: (text: string) => Promise<void>;
  err: (line: string) => void;
  /** Width of the terminal that standard output goes to. @default a pipe or a file */
  columns?: number | undefined;
  now: () => number;
  databaseTools: (settings: Settings) => DatabaseTools;
  /** Lets a command undo what it has begun before a signal ends the process. */
  interruptible: <T>(act: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  start: (settings: Settings, options: { dev: boolean }) => Promise<void>;
}

/** What a command prints: `json` with `--json`, else `shown`: a list as a table. With a `failure`, it fails after that. */
export interface Printed {
  json: object;
  /** @default the same as `json` */
  shown?: object;
  failure?: string;
}

/** What a command on the database has: all of its context, and what the settings say. */
export interface DatabaseWork extends CommandContext {
  settings: Settings;
  database: DatabaseTools;
  /** Origin of short URLs. */
  publicUrl: string;
}

export interface Work extends Omit<DatabaseWork, 'now'> {
  store: Store;
  now: number;
  /** Has something done when the command has ended, whatever ends it. */
  atEnd: (act: () => Promise<void>) => void;
}

type Act<W, A extends unknown[]> = (work: W, ...args: A) => Promise<Printed | undefined>;

const NOTE_ON_VARIABLES = `
A flag of start wins over its variable. Add _FILE to the name of a variable to
give a file that holds the value.`;

export const bold = (text: string) => styleText('bold', text, { validateStream: false });

/** A command of commander, with what all of ours have; so have those that are added to it. */
export class AdminCommand extends Command {
  readonly context: CommandContext;

  constructor(context: CommandContext, name?: string) {
    super(name);
    this.context = context;
  }

  override createCommand(name?: string): AdminCommand {
    return new AdminCommand(this.context, name);
  }

  add(usage: string, description: string, ...examples: readonly string[]): AdminCommand {
    return this.command(usage)
      .description(description)
      .examples(...examples);
  }

  examples(...lines: readonly string[]): this {
    const shown = lines.map((line) => `  $ shortlink-server ${line}`);
    return this.addHelpText('after', ['', bold('Examples:'), ...shown].join('\n'));
  }

  /** Adds the variables of settings to the help. */
  addVariables(title: string, settings: readonly Option[]): void {
    const column = Math.max(...settings.map(({ envVar = '' }) => envVar.length));
    this.addHelpText('after', () => {
      const help = this.createHelp();
      const lines = settings.map(({ envVar = '', description, defaultValue }) => {
        const fallback = defaultValue === undefined ? '' : ` (default: ${defaultValue})`;
        return help.formatItem(envVar, column, description + fallback, help);
      });
      return ['', bold(title), ...lines, NOTE_ON_VARIABLES].join('\n');
    });
  }

  /** The settings that its flags give, then those of the environment. */
  settings(): Settings {
    return readSettings(flagsOf(this), this.context.env);
  }

  /** Adds the options that all of these share, says which database it is, and prints what `act` makes of the arguments, if it is anything. */
  onDatabase<A extends unknown[]>(act: Act<DatabaseWork, A>): void {
    this.addOption(SETTINGS.database.option).addOption(SETTINGS.publicUrl.option);
    this.option('--json', 'print JSON').action(async (...args) => {
      const { write, err, columns } = this.context;
      const isJson = this.opts<{ json?: boolean }>().json === true;
      const settings = this.settings();
      const publicUrl = publicUrlOf(settings);
      // In another folder, or with other variables, this is another database, and short URLs begin differently.
      const isUsed = /links|domains/.test(this.parent?.name() ?? '');
      const isUnset = settings.publicUrl === undefined && isUsed;
      const begin = `\nshort URLs begin with ${publicUrl}: no public URL is set`;
      err(`database: ${terminalSafe(databaseName(settings.database))}${isUnset ? begin : ''}`);
      // Commander passes the arguments and the options as they were declared.
      const database = this.context.databaseTools(settings);
      const work = { ...this.context, settings, database, publicUrl };
      const printed = await act(work, ...(args as unknown[] as A));
      if (printed === undefined) return;
      const { json, shown = json, failure } = printed;
      const lines = isJson ? [safeJson(json)] : await linesOf(shown, columns);
      await write(`${lines.join('\n')}\n`);
      if (failure !== undefined) throw new CommandFailed(failure, null);
    });
  }

  /** Does the same with the open database, once that is known to have the account of `--account`. Without `--init`, the database is neither made nor migrated. */
  onStore<A extends unknown[]>(act: Act<Work, A>): void {
    this.onDatabase(async (work, ...args: A) => {
      const { init = false, account } = this.opts<{ init?: boolean; account?: string }>();
      const store = await work.database.open(work.publicUrl, init);
      const ends: (() => Promise<void>)[] = [];
      try {
        if (account !== undefined) found(await store.findAccount(account), 'account', account);
        const atEnd: Work['atEnd'] = (end) => void ends.push(end);
        return await act({ ...work, store, now: work.now(), atEnd }, ...args);
      } finally {
        await Promise.all(ends.map((end) => end())).finally(() => store.close());
      }
    });
  }
}

async function linesOf(shown: object, columns: number | undefined): Promise<string[]> {
  const { formatRecord, formatTable } = await import('./tables.ts');
  return Array.isArray(shown) ? formatTable(shown, columns) : formatRecord({ ...shown });
}
