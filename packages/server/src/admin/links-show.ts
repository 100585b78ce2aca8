import type { Link } from '@shortlink/sdk/wire';
import type { Command } from 'commander';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { CommandFailed } from './exit-codes.ts';
import { formatRecord } from './output.ts';

export function registerLinksShow(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'show <code>', 'show a link').action(
    async (code: string, options: StoreOptions) => {
      const link = await withStore(context, options, (store) => store.findLink(code));
      formatRecord({ ...requireLink(link, code) }, options.json ?? false).forEach(context.out);
    },
  );
}

/** An unknown code ends the command. */
export function requireLink(link: Link | undefined, code: string): Link {
  if (link === undefined) throw new CommandFailed(`link ${JSON.stringify(code)} not found`);
  return link;
}
