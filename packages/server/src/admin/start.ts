import { PERMISSIONS, PLAN_LIMITS } from '@shortlink/sdk/wire';
import { FLAGS } from '../settings.ts';
import type { Store } from '../store/store.ts';
import { createAccount } from './accounts.ts';
import type { AdminCommand } from './command.ts';
import { createKey } from './keys.ts';

export function registerStart(program: AdminCommand): void {
  const start = program.add(
    'start',
    'Serve the API, the redirects and the usage page until SIGTERM or SIGINT (Ctrl-C).',
    'start --dev',
    'start --public-url https://sho.rt \\\n      --database sqlite:/var/lib/links.db',
  );
  for (const option of FLAGS) start.addOption(option);
  start
    .option(
      '--dev',
      'for trying things out: on an empty database, create an account without limits and print its API key',
    )
    .action(({ dev = false }: { dev?: boolean }) => start.context.start(start.settings(), { dev }));
  start.addVariables('without a flag');
}

/**
 * `start --dev`: on a database without accounts, makes one on the Custom plan without limits, with a key.
 * Otherwise changes nothing, and returns the account that it made before, or the oldest.
 */
export async function createDevAccount(
  store: Store,
  now: number,
): Promise<{ id: string; key: string | undefined }> {
  const accounts = await store.listAccounts();
  const known = accounts.find(({ name }) => name === 'dev') ?? accounts[0];
  if (known !== undefined) return { id: known.id, key: undefined };
  // No limits, so that nobody reaches one while trying things out.
  const limits = { ...PLAN_LIMITS.custom, batch_size: null };
  const account = await createAccount(store, { name: 'dev', plan: 'custom', limits, now });
  const owner = { accountId: account.id, name: 'dev', now };
  const { key } = await createKey(store, { ...owner, permissions: PERMISSIONS });
  return { id: account.id, key };
}
