import type { Account, Ledger } from './ledger.ts';
import type { World } from './world.ts';

/** So few links are on a page that most accounts have several of them. */
const PAGE = 20;

/** What operators and clients read agrees with what is stored, once nothing changes any more. */
export async function judgeReads(world: World, ledger: Ledger): Promise<string | undefined> {
  const links = await world.rows<StoredLink>('SELECT code, account_id, target_url FROM links');
  const [row] = await world.rows<{ aliases: number }>('SELECT count(*) AS aliases FROM aliases');
  const exported: { code: string; aliases: string[] }[] = [];
  await world.operate((store) =>
    store.exportLinks({}, async (some) => {
      exported.push(...some);
    }),
  );
  const codes = exported.map(({ code }) => code);
  if (!areSame(codes, codesOf(links))) return `an export has the links ${codes}`;
  const aliases = exported.flatMap((link) => link.aliases).length;
  if (aliases !== Number(row?.aliases))
    return `an export has ${aliases} aliases of ${row?.aliases}`;
  for (const account of ledger.accounts) {
    const own = links.filter(({ account_id }) => account_id === account.id);
    const wrong =
      (await judgeLists(world, account, own)) ?? (await judgeUsage(world, account, own));
    if (wrong !== undefined) return `${account.name}: ${wrong}`;
  }
  return undefined;
}

interface StoredLink {
  code: string;
  account_id: string;
  target_url: string;
}

function codesOf(links: readonly { code: string }[]): string[] {
  return links.map(({ code }) => code).toSorted();
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  return some.join() === others.join();
}

/** Its links, page by page, one alone, and how many there are. */
async function judgeLists(
  world: World,
  { id: accountId }: Account,
  own: readonly StoredLink[],
): Promise<string | undefined> {
  const listed: { id: string; code: string }[] = [];
  for (let isLast = false; !isLast; ) {
    const search = { accountId, limit: PAGE, cursor: listed.at(-1)?.id };
    const page = await world.operate((store) => store.listLinks(search));
    listed.push(...page);
    isLast = page.length < PAGE;
  }
  const ids = listed.map(({ id }) => id);
  if (!areSame(codesOf(listed), codesOf(own)) || !areSame(ids, ids.toSorted().reverse()))
    return `its list has ${listed.length} of ${own.length} links, or others, or in another order`;
  const [first] = own;
  if (first === undefined) return undefined;
  const { code, target_url: query } = first;
  const link = await world.operate((store) => store.findLink(code));
  const found = await world.operate((store) => store.listLinks({ accountId, limit: PAGE, query }));
  if (link?.target_url !== query || !found.some((other) => other.code === code))
    return `${code} is found as ${link?.target_url}, and not by ${query}`;
  const counts = await world.operate((store) => store.countLinks([code]));
  const { some, all } = counts.get(accountId) ?? { some: 0, all: 0 };
  return some === 1 && all === own.length ? undefined : `${some} of ${all} links are counted`;
}

/** Its usage says what it has and may have. */
async function judgeUsage(
  world: World,
  { id, keys, limits }: Account,
  own: readonly StoredLink[],
): Promise<string | undefined> {
  const usage = await world.operate((store) => store.usage(id, world.scheduler.now));
  const valid = keys.filter(({ revoked }) => revoked === undefined).map((key) => key.id);
  const last = limits.at(-1);
  const isRight =
    usage.links.used === own.length &&
    usage.links.limit === last?.links &&
    usage.batch_size === last.batch_size &&
    usage.requests.day.limit === last.requests_per_day &&
    areSame(
      usage.keys.map((key) => key.id),
      valid,
    ) &&
    (usage.top_links ?? []).every(({ code }) => own.some((link) => link.code === code));
  return isRight ? undefined : `its usage is ${JSON.stringify(usage)}, with ${own.length} links`;
}
