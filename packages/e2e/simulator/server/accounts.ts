import type { PlanLimits } from '@shortlink/sdk/wire';
import type { Random } from '../kernel/random.ts';
import { typed } from './commands.ts';
import type { Account, Key } from './ledger.ts';
import { MOST_SKEW_MS, makeLimits } from './plan.ts';
import type { Story } from './story.ts';
import type { World } from './world.ts';

/** What the operator's commands do to accounts and keys. */
export class Accounts {
  readonly #world: World;
  readonly #story: Story;

  constructor(world: World, story: Story) {
    this.#world = world;
    this.#story = story;
  }

  /** An account, with keys. */
  async add(limits: Partial<PlanLimits>, keys: number): Promise<void> {
    const name = `account ${this.#story.ledger.accounts.length + 1}`;
    const create = ['accounts', 'create', '--name', name, '--plan', 'custom'];
    const made = await typed(this.#world, ...create, ...limitWords(limits));
    const account: Account = { name, id: made.id, keys: [], limits: [made.limits] };
    while (account.keys.length < keys)
      account.keys.push(newKey(await typed(this.#world, 'keys', 'create', '--account', made.id)));
    this.#story.ledger.accounts.push(account);
    this.#story.note(`${name} with ${keys} keys: ${JSON.stringify(made.limits)}`);
  }

  /** Takes a key away, or replaces it by another one at once. */
  async revoke(key: Key | undefined, account: Account, isReplaced: boolean): Promise<void> {
    if (key === undefined || key.revoked !== undefined) return;
    if (!isReplaced && account.keys.length < 2) return;
    key.revoked = { doneAt: Number.POSITIVE_INFINITY };
    this.#story.note(`a key of ${account.name} is ${isReplaced ? 'replaced' : 'revoked'}`);
    const made = await typed(this.#world, 'keys', isReplaced ? 'rotate' : 'revoke', key.id);
    // A key that is replaced ends at a time, and clocks differ.
    key.revoked.doneAt = this.#world.scheduler.elapsed + (isReplaced ? MOST_SKEW_MS : 0);
    if (isReplaced) account.keys.push(newKey(made));
  }

  async changeLimits(account: Account, random: Random): Promise<void> {
    const limits = makeLimits(random);
    const before = account.limits.at(-1);
    if (before === undefined) return;
    account.limits.push({ ...before, ...limits });
    this.#story.note(`limits of ${account.name} become ${JSON.stringify(limits)}`);
    await typed(this.#world, 'accounts', 'update', account.id, ...limitWords(limits));
  }
}

/** How the operator's commands call limits. */
const LIMIT_WORDS = {
  requests_per_minute: 'rpm',
  requests_per_day: 'rpd',
  requests_per_month: 'rpmonth',
  links: 'links',
  api_keys: 'keys',
  batch_size: 'batch',
} satisfies Record<keyof PlanLimits, string>;

function limitWords(limits: Partial<PlanLimits>): string[] {
  return (Object.keys(limits) as (keyof PlanLimits)[]).flatMap((name) => [
    '--limit',
    `${LIMIT_WORDS[name]}=${limits[name] ?? 'unlimited'}`,
  ]);
}

function newKey({ id, key }: { id: string; key: string }): Key {
  return { id, key, revoked: undefined };
}
