import type { Command } from 'commander';
import { normalizeHost } from '../domain/hostnames.ts';
import { publicUrlOf, type Settings } from '../settings.ts';
import type { Domain, Store } from '../store/store.ts';
import { requireAccount } from './accounts.ts';
import { type CommandContext, CommandFailed, databaseCommand, runOnStore } from './command.ts';
import { examples } from './help.ts';
import { parseHostname, parseKnownHostname } from './parse-options.ts';

export function registerDomains(program: Command, context: CommandContext): void {
  const domains = program
    .command('domains')
    .description('Add, list and remove custom short domains.');
  examples(domains, 'domains add go.example.com --account acc_7hVmWq2RkPzN', 'domains list');
  databaseCommand(
    domains,
    'add',
    'Add a custom short domain to an account. Its DNS records have to lead to the service.',
    'domains add go.example.com --account acc_7hVmWq2RkPzN',
  )
    .argument(
      '<hostname>',
      'host name, such as go.example.com, with a port if it has one',
      parseHostname,
    )
    .requiredOption('--account <id>', 'id of the account that gets the domain')
    .action((hostname: string, { account }: { account: string }, command: Command) =>
      runOnStore(context, command, async (store, settings) => {
        rejectOwnHost(hostname, settings);
        const input = { hostname, accountId: account, now: context.now() };
        const { id } = await addDomain(store, input);
        return { json: { id, hostname } };
      }),
    );
  const list = 'List all custom domains, oldest first.';
  databaseCommand(domains, 'list', list, 'domains list').action((_, command: Command) =>
    runOnStore(context, command, async (store) => {
      const found = await store.listDomains();
      const rows = found.map(({ id, hostname, account_id }) => ({ id, hostname, account_id }));
      return { json: rows, rows };
    }),
  );
  registerRemove(domains, context);
}

function registerRemove(domains: Command, context: CommandContext): void {
  databaseCommand(
    domains,
    'remove',
    'Remove a custom short domain.',
    'domains remove go.example.com',
    'domains remove go.example.com --force',
  )
    .argument('<hostname>', 'host name, as domains list shows it', parseKnownHostname)
    .option(
      '--force',
      'remove it even if it has links: they respond with 410 until it is added again',
    )
    .action((hostname: string, { force = false }: { force?: boolean }, command: Command) =>
      runOnStore(context, command, async (store) => {
        const outcome = await store.removeDomain({ hostname, force, now: context.now() });
        if (outcome.ok) return { json: { id: outcome.value.id, hostname, removed: true } };
        throw new CommandFailed(
          outcome.reason === 'unknown'
            ? `domain ${hostname} not found`
            : `domain ${hostname} has links, which would stop redirecting; --force removes it anyway, and adding it to the same account again brings them back`,
        );
      }),
    );
}

/** Short links of the default domain don't redirect on custom domains, so one at the service's own address would stop them all. */
function rejectOwnHost(hostname: string, settings: Settings): void {
  const ownHost = normalizeHost(new URL(publicUrlOf(settings)).host);
  if (hostname === ownHost) throw new CommandFailed(`${hostname} is the service's own domain`);
}

export async function addDomain(
  store: Pick<Store, 'addDomain' | 'findAccount'>,
  input: { hostname: string; accountId: string; now: number },
): Promise<Domain> {
  await requireAccount(store, input.accountId);
  const domain = await store.addDomain(input);
  if (domain === undefined) throw new CommandFailed(`domain ${input.hostname} is taken`);
  return domain;
}
