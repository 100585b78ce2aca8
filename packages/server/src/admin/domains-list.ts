import type { Command } from 'commander';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { formatRows } from './output.ts';

export function registerDomainsList(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'list', 'list all custom domains, oldest first').action(
    async (options: StoreOptions) => {
      const domains = await withStore(context, options, (store) => store.listDomains());
      formatRows(
        domains.map(({ id, hostname, account_id }) => ({ id, hostname, account_id })),
        options.json ?? false,
      ).forEach(context.out);
    },
  );
}
