import { PERMISSIONS, type Permission } from '@shortlink/sdk/wire';
import { type Command, InvalidArgumentError } from 'commander';
import { generateApiKey, hashApiKey } from '../api-key.ts';
import { DEFAULT_PERMISSIONS, parsePermission } from '../domain/permissions.ts';
import { planLimitWords } from '../domain/problem.ts';
import type { ApiKey, Store } from '../store/store.ts';
import { requireAccount } from './accounts-show.ts';
import { type CommandContext, type StoreOptions, storeCommand, withStore } from './context.ts';
import { CommandFailed } from './exit-codes.ts';
import { parseName } from './name-option.ts';
import { formatRecord } from './output.ts';

interface Options extends StoreOptions {
  account: string;
  name: string;
  permission?: Permission[];
}

export function registerKeysCreate(parent: Command, context: CommandContext): void {
  storeCommand(parent, 'create', 'create an API key and print it once')
    .requiredOption('--account <id>', 'account the key belongs to')
    .option('--name <name>', 'name of the key', parseName, 'default')
    .option(
      '--permission <permission>',
      `${PERMISSIONS.join(', ')}; may be given again (default: ${DEFAULT_PERMISSIONS.join()})`,
      collectPermission,
    )
    .action(async (options: Options) => {
      const {
        account,
        name,
        permission: permissions = DEFAULT_PERMISSIONS,
        json = false,
      } = options;
      const created = await withStore(context, options, async (store) => {
        await requireAccount(store, account);
        return createKey(store, { accountId: account, name, permissions, now: context.now() });
      });
      formatRecord({ ...created }, json).forEach(context.out);
    });
}

/** Makes a key; only its hash is stored, so this is the one time it can be shown. */
export async function createKey(
  store: Pick<Store, 'createKey'>,
  input: { accountId: string; name: string; permissions: readonly Permission[]; now: number },
): Promise<ApiKey & { key: string }> {
  const key = generateApiKey();
  const outcome = await store.createKey({ ...input, hash: hashApiKey(key) });
  if (!outcome.ok) {
    throw new CommandFailed(`${planLimitWords(outcome)} Upgrade the plan or revoke a key.`);
  }
  const { id, account_id, name, permissions } = outcome.value;
  return { id, account_id, name, permissions, key };
}

function collectPermission(text: string, before: Permission[] = []): Permission[] {
  const permission = parsePermission(text);
  if (permission === undefined) {
    throw new InvalidArgumentError(`Expected one of ${PERMISSIONS.join(', ')}.`);
  }
  return before.includes(permission) ? before : [...before, permission];
}
