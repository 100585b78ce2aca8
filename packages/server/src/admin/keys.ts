import { PERMISSIONS, type Permission } from '@shortlink/sdk/wire';
import { DEFAULT_PERMISSIONS, generateApiKey, hashApiKey } from '../api-key.ts';
import { planLimitWords } from '../domain/problem.ts';
import type { NewKey } from '../store/operator-store.ts';
import type { ApiKey, Store } from '../store/store.ts';
import { type AdminCommand, CommandFailed, found } from './command.ts';
import { collectPermission, parseDuration, parseFuture, parseName } from './parse-options.ts';

interface CreateOptions {
  account: string;
  name: string;
  permission?: Permission[];
  expires?: number;
}

const KEY_ID = 'id of the key, as keys list shows it, or the key itself, such as one that leaked';

const EXPIRES = 'date from which the key is rejected, such as 2027-01-31 (00:00 UTC)';

const CREATING = 'keys create --account acc_7hVmWq2RkPzN';
const LISTING = 'keys list --account acc_7hVmWq2RkPzN';

export function registerKeys(program: AdminCommand): void {
  const keys = program.add('keys', 'Create, list, rotate and revoke API keys.', CREATING, LISTING);
  keys
    .add(
      'create',
      'Create an API key and print it. It can not be printed again.',
      `${CREATING} --name ci`,
      `${CREATING} \\\n      --permission analytics:read --expires 2027-01-31`,
    )
    .requiredOption('--account <id>', 'id of the account that gets the key')
    .option('--name <name>', 'name of the key', parseName, 'default')
    .option(
      '--permission <permission>',
      `${PERMISSIONS.join(' or ')} (usage, look-ups and polling only); may be given several times (default: ${DEFAULT_PERMISSIONS.join()})`,
      collectPermission,
    )
    .option('--expires <date>', EXPIRES, parseFuture(keys.context.now))
    .onStore(async ({ store, now }, options: CreateOptions) => {
      const { account: accountId, name, expires: expiresAt } = options;
      const { permission: permissions = DEFAULT_PERMISSIONS } = options;
      return { json: await createKey(store, { accountId, name, permissions, expiresAt, now }) };
    });
  keys
    .add(
      'list',
      'List the API keys of an account, oldest first, without the keys themselves.',
      LISTING,
    )
    .requiredOption('--account <id>', 'id of the account')
    .onStore(async ({ store, now }, { account }: { account: string }) => {
      const listed = (await store.listKeys(account)).filter((key) => !isReplaced(key, now));
      const json = listed.map(({ expires_at = null, last_used_at = null, ...key }) => {
        return { ...key, expires_at, last_used_at };
      });
      const shown = listed.map((key) => ({
        ...{ id: key.id, name: key.name, permissions: key.permissions },
        'last used': key.last_used_at?.slice(0, 10) ?? 'never',
        ends: endOf(key, now),
      }));
      return { json, shown };
    });
  registerRotate(keys);
  keys
    .add('revoke', 'Revoke an API key: it is rejected from now on.', 'keys revoke key_4fTq8XmWzR2b')
    .argument('<key-id>', KEY_ID)
    .onStore(async ({ store, now }, named: string) => {
      const id = await idOf(store, named);
      const { before, ...owner } = found(await store.revokeKey(id, now), 'key', id);
      if (before === undefined) return { json: { id, revoked: true, ...owner } };
      const whose = `key ${id} (${owner.name}) of the account ${owner.account_id} (${owner.account})`;
      throw new CommandFailed(`${whose} was revoked before, at ${before}`);
    });
}

function registerRotate(keys: AdminCommand): void {
  const defaultExpires = `${EXPIRES} (default: that of the old key)`;
  keys
    .add(
      'rotate',
      'Replace an API key by a new one with the same name and permissions, and print the new one. It can not be printed again.',
      'keys rotate key_4fTq8XmWzR2b --grace 24h',
    )
    .argument('<key-id>', KEY_ID)
    .option(
      '--grace <duration>',
      'how long the old key stays valid, such as 24h or 7d',
      parseDuration,
      0,
    )
    .option('--expires <date>', defaultExpires, parseFuture(keys.context.now))
    .onStore(
      async ({ store, now }, named: string, options: { grace: number; expires?: number }) => {
        const { grace: graceMs, expires: expiresAt } = options;
        const keyId = await idOf(store, named);
        const key = generateApiKey();
        const hash = hashApiKey(key);
        const outcome = await store.rotateKey({ keyId, hash, graceMs, expiresAt, now });
        if (outcome.ok) return { json: { ...outcome.value, key, replaces: keyId } };
        const words = {
          ended: 'not found, or revoked or expired before',
          rotated: 'was rotated before; rotate its successor, or use keys create if it is gone',
        };
        throw new CommandFailed(`key ${JSON.stringify(keyId)} ${words[outcome.reason]}`);
      },
    );
}

/** The id of the key that is named by its id or by itself. A key is repeated in no message. */
async function idOf(store: Store, named: string): Promise<string> {
  const [key] = /sl_\w+/.exec(named) ?? [];
  const id = key === undefined ? named : (await store.findKeyByHash(hashApiKey(key)))?.keyId;
  if (id !== undefined) return id;
  throw new CommandFailed('there is no such key, or it was revoked before');
}

/** Makes a key; only its hash is stored, so this is the one time it can be shown. */
export async function createKey(
  store: Pick<Store, 'createKey'>,
  input: Omit<NewKey, 'hash'> & { accountId: string },
): Promise<ApiKey & { key: string }> {
  const key = generateApiKey();
  const outcome = await store.createKey({ ...input, hash: hashApiKey(key) });
  if (outcome.ok) return { ...outcome.value, key };
  throw new CommandFailed(`${planLimitWords(outcome)} Upgrade the plan or revoke a key.`);
}

/** Whether a key was rotated and its grace period is over. Like a revoked key, it can't be used any more. */
function isReplaced({ replaced_by, expires_at }: ApiKey, now: number): boolean {
  return replaced_by !== undefined && Date.parse(expires_at ?? '') <= now;
}

function endOf({ expires_at, replaced_by }: ApiKey, now: number): string {
  if (expires_at === undefined) return 'never';
  const successor = replaced_by === undefined ? '' : `, replaced by ${replaced_by}`;
  const time = expires_at.replace('T00:00:00.000Z', '');
  return `${Date.parse(expires_at) <= now ? 'expired ' : ''}${time}${successor}`;
}

/** Makes an account without limits, and a key, on a database without accounts. Else returns the account that it made before, or the oldest. */
export async function createDevAccount(store: Store, now: number) {
  const accounts = await store.listAccounts();
  const known = accounts.find(({ name }) => name === 'dev') ?? accounts[0];
  if (known !== undefined) return { id: known.id, key: undefined };
  // No limits, so that nobody reaches one while trying things out.
  const limits = { batch_size: null };
  const account = await store.createAccount({ name: 'dev', plan: 'custom', limits, now });
  const owner = { accountId: account.id, name: 'dev', now };
  const { key } = await createKey(store, { ...owner, permissions: PERMISSIONS });
  return { id: account.id, key };
}
