import { PLANS, type Plan, type PlanLimits } from '@shortlink/sdk/wire';
import type { Command } from 'commander';
import type { Account } from '../store/store.ts';
import { type AdminCommand, found, type Printed } from './command.ts';
import { collectLimit, limitsByFlag, parseName, parsePlan } from './parse-options.ts';

interface AccountOptions {
  name: string;
  plan: Plan;
  limit?: Partial<PlanLimits>;
}

const ACCOUNT_ID = 'id of the account, as accounts list shows it';
const EXAMPLE_ID = 'acc_7hVmWq2RkPzN';

const NAME = ['--name <name>', 'name of the account', parseName] as const;
const PLAN = ['--plan <plan>', `one of ${PLANS.join(', ')}`, parsePlan] as const;
const LIMIT = [
  '--limit <name=count>',
  'limit of the custom plan: rpm, rpd, rpmonth, links, keys or batch, with a number or unlimited; may be given several times',
  collectLimit,
] as const;

export function registerAccounts(program: AdminCommand): void {
  const accounts = program.add(
    'accounts',
    'Create, list, show, change, disable and enable accounts.',
    'accounts create --name Acme --plan pro',
    'accounts list',
  );
  accounts
    .add(
      'create',
      'Create an account.',
      'accounts create --name Acme --plan pro',
      'accounts create --name Acme --plan custom \\\n      --limit rpm=600 --limit links=unlimited',
    )
    .requiredOption(...NAME)
    .requiredOption(...PLAN)
    .option(...LIMIT)
    .option('--init', 'make the database if there is none, and migrate it')
    .hook('preAction', (create) => requireCustom(create, create.opts()))
    .onStore(async ({ store, now }, { name, plan, limit: limits }: AccountOptions) =>
      printed(await store.createAccount({ name, plan, limits, now })),
    );
  accounts
    .add('list', 'List all accounts, oldest first.', 'accounts list')
    .onStore(async ({ store }) => {
      const json = await store.listAccounts();
      return { json, shown: json.map(toRow) };
    });
  accounts
    .add('show', 'Show an account and its limits.', `accounts show ${EXAMPLE_ID}`)
    .argument('<id>', ACCOUNT_ID)
    .onStore(async ({ store }, id: string) => printed(await store.findAccount(id), id));
  const update = accounts
    .add(
      'update',
      'Change the name, plan or limits of an account, from the next request on. A new plan brings its own limits.',
      `accounts update ${EXAMPLE_ID} --plan avance`,
      `accounts update ${EXAMPLE_ID} --limit rpm=1200`,
    )
    .argument('<id>', ACCOUNT_ID)
    .option(...NAME)
    .option(...PLAN)
    .option(...LIMIT);
  update.onStore(async ({ store }, id: string, options: Partial<AccountOptions>) => {
    const { name, plan, limit: limits } = options;
    if (name === undefined && plan === undefined && limits === undefined) {
      update.error('error: nothing to change: give --name, --plan or --limit');
    }
    const held = plan ?? found(await store.findAccount(id), 'account', id).plan;
    requireCustom(update, { ...options, plan: held });
    const change = { name, plan, limits };
    return printed(await store.updateAccount({ id, change }), id);
  });
  const verbs = [
    ['disable', true, 'Reject the keys of an account and stop its links. Nothing is deleted.'],
    ['enable', false, 'Let a disabled account and its links work again.'],
  ] as const;
  for (const [verb, disabled, description] of verbs) {
    accounts
      .add(verb, description, `accounts ${verb} ${EXAMPLE_ID}`)
      .argument('<id>', ACCOUNT_ID)
      .onStore(async ({ store, now }, id: string) =>
        printed(await store.setAccountDisabled({ id, disabled, now }), id),
      );
  }
}

function requireCustom(command: Command, { plan, limit }: Partial<AccountOptions>): void {
  if (limit === undefined || plan === 'custom') return;
  command.error(`error: --limit needs --plan custom: the limits of the plan ${plan} are fixed`);
}

function printed(account: Account | undefined, id = ''): Printed {
  const json = found(account, 'account', id);
  return { json, shown: toRow(json) };
}

function toRow({ id, name, plan, limits, disabled_at }: Account) {
  const status = disabled_at ? `disabled since ${disabled_at.slice(0, 10)}` : 'active';
  return { id, name, plan, status, limits: limitsByFlag(limits) };
}
