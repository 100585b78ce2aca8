import type { Command } from 'commander';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { formatRecord } from './output.ts';

/** Every command migrates when it opens the database; this one does nothing else. */
export function registerMigrate(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'migrate', 'bring the database up to the version of this program').action(
    async (options: StoreOptions) => {
      await withStore(context, options, (store) => store.ping());
      formatRecord({ migrated: true }, options.json ?? false).forEach(context.out);
    },
  );
}
