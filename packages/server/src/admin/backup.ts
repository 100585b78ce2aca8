import type { Command } from 'commander';
import { readSettings } from '../config.ts';
import { type CommandContext, type StoreOptions, storeCommand } from './context.ts';
import { formatRecord } from './output.ts';

export function registerBackup(parent: Command, context: CommandContext): void {
  storeCommand(
    parent,
    'backup <file>',
    'copy the SQLite database into a new file, while the server runs',
  ).action(async (file: string, options: StoreOptions) => {
    await context.backup(readSettings(options, context.env), file);
    formatRecord({ file }, options.json ?? false).forEach(context.out);
  });
}
