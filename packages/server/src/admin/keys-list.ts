import type { Command } from 'commander';
import { requireAccount } from './accounts-show.ts';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { formatRows } from './output.ts';

interface Options extends StoreOptions {
  account: string;
}

export function registerKeysList(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'list', "list an account's keys, oldest first, without the keys themselves")
    .requiredOption('--account <id>', 'account the keys belong to')
    .action(async (options: Options) => {
      const keys = await withStore(context, options, async (store) => {
        await requireAccount(store, options.account);
        return store.listKeys(options.account);
      });
      formatRows(
        keys.map(({ id, account_id, name, permissions }) => ({
          id,
          account_id,
          name,
          permissions,
        })),
        options.json ?? false,
      ).forEach(context.out);
    });
}
