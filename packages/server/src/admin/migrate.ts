import type { Command } from 'commander';
import { readSettings } from '../config.ts';
import { type CommandContext, type StoreOptions, storeCommand } from './context.ts';
import { formatRecord } from './output.ts';

/** Every command migrates when it opens the database; this one does nothing else, and prints the versions. */
export function registerMigrate(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'migrate', 'bring the database up to the version of this program').action(
    async (options: StoreOptions) => {
      const report = await context.migrate(readSettings(options, context.env));
      formatRecord({ ...report }, options.json ?? false).forEach(context.out);
    },
  );
}
