import { PLAN_LIMITS, PLANS, type Plan, type PlanLimits } from '@shortlink/sdk/wire';
import type { Command } from 'commander';
import type { Account, Store } from '../store/store.ts';
import { type CommandContext, CommandFailed, onStore, type Printed } from './command.ts';
import { addCommand } from './help.ts';
import { collectLimit, limitsByFlag, parseName, parsePlan } from './parse-options.ts';
import type { Row } from './tables.ts';

interface AccountOptions {
  name: string;
  plan: Plan;
  limit?: Partial<PlanLimits>;
}

const ACCOUNT_ID = 'id of the account, as accounts list shows it';

const LIMIT_HELP =
  'limit of the custom plan: rpm, rpd, rpmonth, links, keys or batch, with a number or unlimited; may be given several times';

export function registerAccounts(program: Command, context: CommandContext): void {
  const accounts = addCommand(
    program,
    'accounts',
    'Create, list, show, change, disable and enable accounts.',
    'accounts create --name Acme --plan pro',
    'accounts list',
  );
  registerCreate(accounts, context);
  const list = addCommand(accounts, 'list', 'List all accounts, oldest first.', 'accounts list');
  onStore(context, list, async (store) => {
    const json = await store.listAccounts();
    return { json, rows: json.map(toRow) };
  });
  const show = 'Show an account and its limits.';
  onStore(
    context,
    addCommand(accounts, 'show', show, 'accounts show acc_7hVmWq2RkPzN').argument(
      '<id>',
      ACCOUNT_ID,
    ),
    async (store, id: string) => printed(await requireAccount(store, id)),
  );
  registerUpdate(accounts, context);
  const verbs = [
    ['disable', true, 'Reject the keys of an account and stop its links. Nothing is deleted.'],
    ['enable', false, 'Let a disabled account and its links work again.'],
  ] as const;
  for (const [verb, disabled, description] of verbs) {
    onStore(
      context,
      addCommand(accounts, verb, description, `accounts ${verb} acc_7hVmWq2RkPzN`).argument(
        '<id>',
        ACCOUNT_ID,
      ),
      async (store, id: string) =>
        printed(found(await store.setAccountDisabled({ id, disabled, now: context.now() }), id)),
    );
  }
}

function registerCreate(accounts: Command, context: CommandContext): void {
  const create = addCommand(
    accounts,
    'create',
    'Create an account.',
    'accounts create --name Acme --plan pro',
    'accounts create --name Acme --plan custom \\\n      --limit rpm=600 --limit links=unlimited',
  )
    .requiredOption('--name <name>', 'name of the account', parseName)
    .requiredOption('--plan <plan>', `one of ${PLANS.join(', ')}`, parsePlan)
    .option('--limit <name=count>', LIMIT_HELP, collectLimit)
    .option('--init', 'make the database if there is none, and migrate it')
    .hook('preAction', () => {
      const { plan, limit } = create.opts<AccountOptions>();
      if (limit !== undefined) requireCustom(create, plan);
    });
  onStore(context, create, async (store, { name, plan, limit = {} }: AccountOptions) =>
    printed(await createAccount(store, { name, plan, limits: limit, now: context.now() })),
  );
}

function registerUpdate(accounts: Command, context: CommandContext): void {
  const update = addCommand(
    accounts,
    'update',
    'Change the name, plan or limits of an account, from the next request on. A new plan brings its own limits.',
    'accounts update acc_7hVmWq2RkPzN --plan avance',
    'accounts update acc_7hVmWq2RkPzN --limit rpm=1200',
  )
    .argument('<id>', ACCOUNT_ID)
    .option('--name <name>', 'name of the account', parseName)
    .option('--plan <plan>', `one of ${PLANS.join(', ')}`, parsePlan)
    .option('--limit <name=count>', LIMIT_HELP, collectLimit);
  onStore(context, update, async (store, id: string, options: Partial<AccountOptions>) => {
    const { name, plan, limit: limits } = options;
    if (name === undefined && plan === undefined && limits === undefined) {
      update.error('error: nothing to change: give --name, --plan or --limit');
    }
    const planned = plan ?? (await requireAccount(store, id)).plan;
    if (limits !== undefined) requireCustom(update, planned);
    return printed(found(await store.updateAccount({ id, change: { name, plan, limits } }), id));
  });
}

/** The limits of the other plans are fixed. */
function requireCustom(command: Command, plan: Plan): void {
  if (plan === 'custom') return;
  command.error(`error: --limit needs --plan custom: the limits of the plan ${plan} are fixed`);
}

/** Creates an account with its plan's limits; those given replace the plan's. */
export function createAccount(
  store: Pick<Store, 'createAccount'>,
  input: { name: string; plan: Plan; limits: Partial<PlanLimits>; now: number },
): Promise<Account> {
  return store.createAccount({ ...input, limits: { ...PLAN_LIMITS[input.plan], ...input.limits } });
}

/** Returns the account with this id. The command fails when there is none. */
export async function requireAccount(
  store: Pick<Store, 'findAccount'>,
  id: string,
): Promise<Account> {
  return found(await store.findAccount(id), id);
}

function found(account: Account | undefined, id: string): Account {
  if (account === undefined) throw new CommandFailed(`account ${JSON.stringify(id)} not found`);
  return account;
}

function printed(account: Account): Printed {
  return { json: account, record: toRow(account) };
}

function toRow({ id, name, plan, limits, disabled_at }: Account): Row {
  const status =
    disabled_at === undefined ? 'active' : `disabled since ${disabled_at.slice(0, 10)}`;
  return { id, name, plan, status, limits: limitsByFlag(limits) };
}
