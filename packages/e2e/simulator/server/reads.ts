import type { PlanLimits } from '@shortlink/sdk/wire';
import { type, typed } from './commands.ts';
import type { Account, Key, Ledger } from './ledger.ts';
import type { World } from './world.ts';

/** So few links are on a page that most accounts have several of them. */
const PAGE = 20;

/** What operators and clients read agrees with what is stored, once nothing changes any more. */
export async function judgeReads(world: World, ledger: Ledger): Promise<string | undefined> {
  const links = await world.rows<StoredLink>('SELECT code, account_id, target_url FROM links');
  const [row] = await world.rows<{ aliases: number }>('SELECT count(*) AS aliases FROM aliases');
  const { out } = await type(world, ['links', 'export', '--format', 'jsonl']);
  const exported: Exported[] = out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  if (!areSame(codesOf(exported), codesOf(links), isSorted(exported)))
    return `an export has the links ${exported.map(({ code }) => code)}`;
  const aliases = exported.flatMap((link) => link.aliases).length;
  if (aliases !== Number(row?.aliases))
    return `an export has ${aliases} aliases of ${row?.aliases}`;
  for (const account of ledger.accounts) {
    const own = links.filter(({ account_id }) => account_id === account.id);
    const wrong =
      (await judgeLists(world, account, own)) ??
      (await judgeExport(world, account, own)) ??
      (await judgeUsage(world, account, own)) ??
      (await judgeKeys(world, account)) ??
      (await judgeSwitches(world, account, own));
    if (wrong !== undefined) return `${account.name}: ${wrong}`;
  }
  return (await judgeAccounts(world, ledger)) ?? (await judgeDoctor(world));
}

interface StoredLink {
  code: string;
  account_id: string;
  target_url: string;
}

interface Exported {
  code: string;
  aliases: string[];
}

function codesOf(links: readonly { code: string }[]): string[] {
  return links.map(({ code }) => code).toSorted();
}

function isSorted(links: readonly { code: string }[]): boolean {
  return links.every(({ code }, at) => code > (links[at - 1]?.code ?? ''));
}

function areSame(some: readonly string[], others: readonly string[], isRight = true): boolean {
  return isRight && some.join() === others.join();
}

/** Its links, page by page, one alone, and how many there are. */
async function judgeLists(
  world: World,
  { id: accountId }: Account,
  own: readonly StoredLink[],
): Promise<string | undefined> {
  const list = ['links', 'list', '--account', accountId, '--limit', String(PAGE)];
  const listed: { id: string; code: string }[] = [];
  for (let isLast = false; !isLast; ) {
    const after = listed.at(-1)?.id;
    const page = await typed(world, ...list, ...(after === undefined ? [] : ['--cursor', after]));
    listed.push(...page);
    isLast = page.length < PAGE;
  }
  const ids = listed.map(({ id }) => id);
  if (!areSame(codesOf(listed), codesOf(own)) || !areSame(ids, ids.toSorted().reverse()))
    return `its list has ${listed.length} of ${own.length} links, or others, or in another order`;
  const [first] = own;
  if (first === undefined) return undefined;
  const { code, target_url: query } = first;
  const link = await typed(world, 'links', 'show', code);
  const found: StoredLink[] = await typed(world, ...list, '--query', query);
  if (link.target_url !== query || !found.some((other) => other.code === code))
    return `${code} is found as ${link.target_url}, and not by ${query}`;
  const counts = await world.operate((store) => store.countLinks([code]));
  const { some, all } = counts.get(accountId) ?? { some: 0, all: 0 };
  return some === 1 && all === own.length ? undefined : `${some} of ${all} links are counted`;
}

/** All of its export is there already, whether as a table or as lines of JSON. */
async function judgeExport(
  world: World,
  { id }: Account,
  own: readonly StoredLink[],
): Promise<string | undefined> {
  for (const format of ['csv', 'jsonl']) {
    const { out: stdin } = await type(world, [
      'links',
      'export',
      '--account',
      id,
      '--format',
      format,
    ]);
    const again = ['links', 'import', '-', '--account', id, '--dry-run', '--json'];
    const { json, err } = await type(world, again, { stdin });
    if (json?.exists !== own.length || json.created + json.extended > 0)
      return `its export as ${format} again is ${JSON.stringify(json)} of ${own.length}: ${err}`;
  }
  return undefined;
}

/** Its usage says what it has and may have. */
async function judgeUsage(
  world: World,
  { id, keys, limits }: Account,
  own: readonly StoredLink[],
): Promise<string | undefined> {
  const usage = await world.operate((store) => store.usage(id, world.scheduler.now));
  const last = limits.at(-1);
  const isRight =
    usage.links.used === own.length &&
    usage.links.limit === last?.links &&
    usage.batch_size === last.batch_size &&
    usage.requests.day.limit === last.requests_per_day &&
    areSame(idsOf(usage.keys), validOf(keys)) &&
    (usage.top_links ?? []).every(({ code }) => own.some((link) => link.code === code));
  return isRight ? undefined : `its usage is ${JSON.stringify(usage)}, with ${own.length} links`;
}

const idsOf = (some: readonly { id: string }[]) => some.map(({ id }) => id);

const validOf = (keys: readonly Key[]) =>
  idsOf(keys.filter(({ revoked }) => revoked === undefined));

async function judgeKeys(world: World, { id, keys }: Account): Promise<string | undefined> {
  const listed = idsOf(await typed(world, 'keys', 'list', '--account', id));
  return areSame(listed, validOf(keys)) ? undefined : `its keys are listed as ${listed}`;
}

/** What is switched off, or added, and then put back. */
async function judgeSwitches(
  world: World,
  { id }: Account,
  [first]: readonly StoredLink[],
): Promise<string | undefined> {
  const hostname = `go-${id.toLowerCase().replace('_', '-')}.example.com`;
  const hosts = async () =>
    (await typed(world, 'domains', 'list')).map((domain: { hostname: string }) => domain.hostname);
  await typed(world, 'domains', 'add', hostname, '--account', id);
  const [added] = [await hosts()];
  await typed(world, 'domains', 'remove', hostname);
  if (!added.includes(hostname) || (await hosts()).includes(hostname))
    return `its domain ${hostname} is listed among ${added}, and not taken away`;
  const isOff = async () => (await typed(world, 'accounts', 'show', id)).disabled_at !== undefined;
  await typed(world, 'accounts', 'disable', id);
  const wasOff = await isOff();
  await typed(world, 'accounts', 'enable', id);
  if (!wasOff || (await isOff())) return 'it is not disabled, or not enabled again';
  if (first === undefined) return undefined;
  const off = await typed(world, 'links', 'disable', first.code);
  const on = await typed(world, 'links', 'enable', `${first.code}`);
  return off.is_active || !on.is_active ? `${first.code} is not switched off and on` : undefined;
}

/** All accounts with what they may have, also as a table. */
async function judgeAccounts(world: World, { accounts }: Ledger): Promise<string | undefined> {
  const listed: { id: string; limits: PlanLimits }[] = await typed(world, 'accounts', 'list');
  const { out } = await type(world, ['accounts', 'list']);
  const isRight = accounts.every(({ id, name, limits }, at) => {
    const { links } = listed[at]?.limits ?? {};
    return listed[at]?.id === id && links === limits.at(-1)?.links && out.includes(name);
  });
  return isRight && listed.length === accounts.length
    ? undefined
    : `the accounts are listed as ${JSON.stringify(listed)}, and as\n${out}`;
}

/** What asks for something is said, and is the exit code. */
async function judgeDoctor(world: World): Promise<string | undefined> {
  const facts = { version: 1, newest: 2, clockAheadMs: 5, disk: { free: 9e9, used: 1e9 } };
  const { json, exitCode } = await type(world, ['doctor', '--json'], { env: {}, facts });
  const asking = json.filter(({ todo }: { todo: string }) => todo !== 'nothing');
  const names = asking.map(({ check }: { check: string }) => check).join();
  return exitCode === 1 && names === 'schema,public URL'
    ? undefined
    : `doctor ends with ${exitCode} and asks for ${names}`;
}
