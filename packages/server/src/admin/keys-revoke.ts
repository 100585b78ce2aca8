import type { Command } from 'commander';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { CommandFailed } from './exit-codes.ts';
import { formatRecord } from './output.ts';

export function registerKeysRevoke(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'revoke <key-id>', 'revoke a key: it stops working at once').action(
    async (id: string, options: StoreOptions) => {
      const revoked = await withStore(context, options, (store) =>
        store.revokeKey(id, context.now()),
      );
      if (!revoked)
        throw new CommandFailed(`key ${JSON.stringify(id)} not found or revoked before`);
      formatRecord({ id, revoked }, options.json ?? false).forEach(context.out);
    },
  );
}
