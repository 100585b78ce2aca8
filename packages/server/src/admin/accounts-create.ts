import { PLAN_LIMITS, PLANS, type Plan, type PlanLimits } from '@shortlink/sdk/wire';
import { type Command, InvalidArgumentError } from 'commander';
import type { Account, Store } from '../store/store.ts';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { collectLimit } from './limit-option.ts';
import { parseName } from './name-option.ts';
import { formatRecord } from './output.ts';

interface Options extends StoreOptions {
  name: string;
  plan: Plan;
  limit?: Partial<PlanLimits>;
}

export function registerAccountsCreate(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'create', 'create an account')
    .requiredOption('--name <name>', 'name of the account', parseName)
    .requiredOption('--plan <plan>', PLANS.join(', '), parsePlan)
    .option('--limit <name=count>', 'custom plan only; may be given again', collectLimit)
    .action(async (options: Options, command: Command) => {
      const { name, plan, limit = {}, json = false } = options;
      if (plan !== 'custom' && Object.keys(limit).length > 0) {
        command.error(
          `error: --limit needs --plan custom: the limits of the plan ${plan} are fixed`,
        );
      }
      const account = await withStore(context, options, (store) =>
        createAccount(store, { name, plan, limits: limit, now: context.now() }),
      );
      formatRecord({ ...account }, json).forEach(context.out);
    });
}

/** Creates an account with its plan's limits; those given replace the plan's. */
export function createAccount(
  store: Pick<Store, 'createAccount'>,
  input: { name: string; plan: Plan; limits: Partial<PlanLimits>; now: number },
): Promise<Account> {
  return store.createAccount({ ...input, limits: { ...PLAN_LIMITS[input.plan], ...input.limits } });
}

function parsePlan(text: string): Plan {
  const plan = PLANS.find((name) => name === text.toLowerCase());
  if (plan === undefined) throw new InvalidArgumentError(`Expected one of ${PLANS.join(', ')}.`);
  return plan;
}
