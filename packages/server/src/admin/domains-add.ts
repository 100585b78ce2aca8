import { type Command, InvalidArgumentError } from 'commander';
import { normalizeHost, parseDomainHostname } from '../domain/hostnames.ts';
import type { Domain, Store } from '../store/store.ts';
import { requireAccount } from './accounts-show.ts';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { CommandFailed } from './exit-codes.ts';
import { formatRecord } from './output.ts';

interface Options extends StoreOptions {
  account: string;
}

export function registerDomainsAdd(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'add', 'add a custom short domain to an account')
    .argument('<hostname>', 'such as go.example.com, with a port if it has one', parseHostname)
    .requiredOption('--account <id>', 'account the domain belongs to')
    .action(async (hostname: string, options: Options) => {
      const domain = await withStore(context, options, async (store, { publicUrl }) => {
        if (publicUrl !== undefined && normalizeHost(new URL(publicUrl).host) === hostname) {
          throw new CommandFailed(`${hostname} is the service's own domain`);
        }
        return addDomain(store, { hostname, accountId: options.account, now: context.now() });
      });
      formatRecord({ id: domain.id, hostname: domain.hostname }, options.json ?? false).forEach(
        context.out,
      );
    });
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

function parseHostname(text: string): string {
  const hostname = parseDomainHostname(text);
  if (hostname === undefined)
    throw new InvalidArgumentError('Expected a host name without scheme.');
  return hostname;
}
