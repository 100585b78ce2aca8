import type { Command } from 'commander';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { requireLink } from './links-show.ts';
import { formatRecord } from './output.ts';

/** `links enable` and `links disable`: a running server follows within a second. */
export function registerLinksSetActive(parent: Command, context: CommandContext): void {
  const verbs = [
    ['enable', true, 'let a link redirect again'],
    ['disable', false, 'answer a link with 410 instead of redirecting'],
  ] as const;
  for (const [verb, active, description] of verbs) {
    storeCommand(parent, `${verb} <code>`, description).action(
      async (code: string, options: StoreOptions) => {
        const link = await withStore(context, options, (store) =>
          store.setLinkActive(code, active),
        );
        formatRecord({ ...requireLink(link, code) }, options.json ?? false).forEach(context.out);
      },
    );
  }
}
