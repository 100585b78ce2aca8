import { hostOfUrl } from '../domain/hostnames.ts';
import type { DomainUse } from '../store/operator-store.ts';
import { type AdminCommand, CommandFailed } from './command.ts';
import { parseHostname } from './parse-options.ts';

const HOSTNAME = 'host name, such as go.example.com, with a port if it has one';

export function registerDomains(program: AdminCommand): void {
  const adding = 'domains add go.example.com --account acc_7hVmWq2RkPzN';
  const what = 'Add, list and remove custom short domains.';
  const domains = program.add('domains', what, adding, 'domains list');
  domains
    .add(
      'add',
      'Add a custom short domain to an account. Its DNS records have to lead to the service.',
      adding,
    )
    .argument('<hostname>', HOSTNAME, parseHostname)
    .requiredOption('--account <id>', 'id of the account that gets the domain')
    .onStore(async (work, hostname: string, options: { account: string }) => {
      const { store, publicUrl, now, err } = work;
      // Short links of the default domain don't redirect on custom domains, so one at the service's own address would stop them all.
      if (hostname === hostOfUrl(publicUrl)) {
        throw new CommandFailed(`${hostname} is the service's own domain (its public URL)`);
      }
      const domain = await store.addDomain({ hostname, accountId: options.account, now });
      if (domain === undefined) {
        const owner = (await store.listDomains()).find((known) => known.hostname === hostname);
        throw new CommandFailed(`domain ${hostname} is taken: account ${owner?.account_id} has it`);
      }
      const use = await store.domainUse(hostname);
      const words = inWords(use);
      if (words !== '') err(`${words} can be followed again`);
      return { json: { id: domain.id, hostname, ...(words !== '' && use) } };
    });
  domains
    .add('list', 'List all custom domains, oldest first.', 'domains list')
    .onStore(async ({ store }) => ({ json: await store.listDomains() }));
  domains
    .add(
      'remove',
      'Remove a custom short domain.',
      'domains remove go.example.com',
      'domains remove go.example.com --force',
    )
    .argument('<hostname>', 'host name, as domains list shows it', parseHostname)
    .option(
      '--force',
      'remove it even if it has links: they respond with 410 until it is added again',
    )
    .onStore(async ({ store, now, err }, hostname: string, options: { force?: boolean }) => {
      const outcome = await store.removeDomain({ hostname, force: options.force ?? false, now });
      const use = await store.domainUse(hostname);
      const words = inWords(use);
      if (outcome.ok) {
        if (words !== '') err(`${words} will respond with 410 until ${hostname} is added again`);
        const { id } = outcome.value;
        return { json: { id, hostname, removed: true, ...(words !== '' && use) } };
      }
      if (outcome.reason === 'unknown') throw new CommandFailed(`domain ${hostname} not found`);
      throw new CommandFailed(
        `domain ${hostname} has ${words}, which would stop redirecting; --force removes it anyway, and adding it to the same account again brings them back`,
      );
    });
}

/** `''` for a domain that has nothing. */
function inWords({ links, addresses }: DomainUse): string {
  const counts = [
    [links, 'link', 'links'],
    [addresses, 'address of moved links', 'addresses of moved links'],
  ] as const;
  const words = counts.filter(([count]) => count > 0);
  return words.map(([count, one, many]) => `${count} ${count === 1 ? one : many}`).join(' and ');
}
