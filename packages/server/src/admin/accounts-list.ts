import type { Command } from 'commander';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { formatRows } from './output.ts';

export function registerAccountsList(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'list', 'list all accounts, oldest first').action(
    async (options: StoreOptions) => {
      const accounts = await withStore(context, options, (store) => store.listAccounts());
      formatRows(
        accounts.map(({ id, name, plan, limits }) => ({ id, name, plan, limits })),
        options.json ?? false,
      ).forEach(context.out);
    },
  );
}
