import type { Command } from 'commander';
import type { Account, Store } from '../store/store.ts';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { CommandFailed } from './exit-codes.ts';
import { formatRecord } from './output.ts';

export function registerAccountsShow(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'show <id>', 'show an account and its limits').action(
    async (id: string, options: StoreOptions) => {
      const account = await withStore(context, options, (store) => requireAccount(store, id));
      formatRecord({ ...account }, options.json ?? false).forEach(context.out);
    },
  );
}

/** The account with this id; an unknown one ends the command. */
export async function requireAccount(
  store: Pick<Store, 'findAccount'>,
  id: string,
): Promise<Account> {
  const account = await store.findAccount(id);
  if (account === undefined) throw new CommandFailed(`account ${JSON.stringify(id)} not found`);
  return account;
}
