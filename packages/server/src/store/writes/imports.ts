import { CODE, MAX_CODE_DRAWS } from '../../domain/ids.ts';
import type { Alias, ImportedLink, ImportOutcome, LinkImport } from '../operator-store.ts';
import {
  type Reading,
  rowsOf,
  type SqlValue,
  type Statement,
  sql,
  sqlList,
  type Writing,
} from '../queries/reading.ts';
import { StoreError } from '../store-error.ts';
import type { Engine } from './engine.ts';

/** Values of one statement. What is left over gets statements of its own: so each has one of few texts, and is prepared once. */
const VALUES_TOGETHER = 128;

/** Where an address leads. */
interface Found {
  code: string;
  account_id: string;
  target_url: string;
}

/** Addresses by {@link keyOf}, and where they lead. */
type Addresses = Map<string, Found>;

interface Plan {
  outcomes: ImportOutcome[];
  /** Links to insert, under their codes. */
  created: Map<string, ImportedLink>;
  aliases: (Alias & { code: string })[];
}

const keyOf = ({ domain_id, path }: Alias) => domain_id + path;

/** In place of the id of a domain: a code is unique over all of them. */
const ANY_DOMAIN = '*';

/** The addresses of a link: that of its code, if it brings one, and its aliases. */
function addressesOf({ code, domain_id, aliases }: ImportedLink): readonly Alias[] {
  if (code === undefined) return aliases;
  const domains = [ANY_DOMAIN, domain_id ?? ''];
  return [...domains.map((domain) => ({ domain_id: domain, path: `/${code}` })), ...aliases];
}

export function* checkImport(input: LinkImport): Reading<ImportOutcome[]> {
  return (yield* planImport(input, () => '')).outcomes;
}

export function* importLinks(
  engine: Engine,
  { accountId, links }: LinkImport,
): Writing<ImportOutcome[]> {
  const codes = yield* freeCodes(links, engine.generateCode);
  const plan = yield* planImport({ accountId, links }, () => codes.pop() ?? '');
  const created = [...plan.created];
  const inserted = yield* engine.insertRows(
    created.map(([code, link]) => ({ ...link, code, account_id: accountId })),
  );
  const added = yield* insert(
    plan.aliases.map(({ domain_id, path, code }) => sql`(${domain_id}, ${path}, ${code})`),
    (list) => sql`
      INSERT INTO aliases (domain_id, path, code) VALUES ${list} ON CONFLICT DO NOTHING RETURNING 1 AS inserted`,
  );
  if (inserted.size < created.length || added < plan.aliases.length) {
    throw new StoreError('busy', 'Another process took one of the addresses meanwhile. Try again.');
  }
  const clicked = created.filter(([, { click_count }]) => click_count > 0);
  yield* insert(
    clicked.map(([code, { click_count }]) => sql`(${code}, ${click_count})`),
    (list) => sql`INSERT INTO link_clicks (code, clicks) VALUES ${list} RETURNING 1 AS inserted`,
  );
  yield* rowsOf(sql`
    UPDATE link_totals SET used = used + ${created.length} WHERE account_id = ${accountId}`);
  return plan.outcomes;
}

/** Links are taken in order, so that one of an earlier row exists for the later rows. */
function* planImport({ accountId, links }: LinkImport, drawCode: () => string): Reading<Plan> {
  const known = yield* findAddresses(links.flatMap(addressesOf));
  const plan: Plan = { outcomes: [], created: new Map(), aliases: [] };
  for (const link of links) {
    const addresses = addressesOf(link);
    const found = addresses.flatMap((address) => known.get(keyOf(address)) ?? []);
    const other = yield* leadsElsewhere(found, accountId, link.target_url);
    if (other !== undefined) {
      const address = addresses.find((one) => known.get(keyOf(one)) === other)?.path ?? '';
      plan.outcomes.push({ state: 'conflict', address, target_url: other.target_url });
      continue;
    }
    const code = found[0]?.code ?? link.code ?? drawCode();
    // A link that exists under another code gets the code of this one as an alias: it may be printed.
    const wanted = found.length === 0 ? link.aliases : addresses;
    const missing = wanted.filter(
      (one, at) =>
        one.domain_id !== ANY_DOMAIN &&
        !known.has(keyOf(one)) &&
        wanted.findIndex((other) => keyOf(other) === keyOf(one)) === at,
    );
    const state = missing.length === 0 ? 'exists' : 'extended';
    plan.outcomes.push({ state: found.length === 0 ? 'created' : state });
    if (found.length === 0) plan.created.set(code, link);
    plan.aliases.push(...missing.map((alias) => ({ ...alias, code })));
    const here = { code, account_id: accountId, target_url: link.target_url };
    for (const address of addresses)
      if (!known.has(keyOf(address))) known.set(keyOf(address), here);
  }
  return plan;
}

/** The first of these that is another account's, or leads elsewhere and always did. */
function* leadsElsewhere(
  found: readonly Found[],
  accountId: string,
  target: string,
): Reading<Found | undefined> {
  for (const one of found) {
    if (one.account_id !== accountId) return one;
    if (one.target_url === target) continue;
    const corrected = yield* rowsOf(sql`
      SELECT 1 AS corrected FROM corrections WHERE code = ${one.code} AND old_target = ${target}`);
    if (corrected.length === 0) return one;
  }
  return undefined;
}

/** Where addresses lead, by alias or by code. Those that lead nowhere are left out. */
function* findAddresses(addresses: readonly Alias[]): Reading<Addresses> {
  const found: Addresses = new Map();
  for (const [domain_id, of] of Map.groupBy(addresses, (address) => address.domain_id)) {
    const paths = of.map(({ path }) => path);
    const aliases = yield* selectIn<Found & { path: string }>(
      paths,
      (list) => sql`
      SELECT path, aliases.code, account_id, target_url FROM aliases JOIN links ON links.code = aliases.code
      WHERE aliases.domain_id = ${domain_id} AND path IN (${list})`,
    );
    for (const { path, ...link } of aliases) found.set(keyOf({ domain_id, path }), link);
    const codes = paths.map((path) => path.slice(1)).filter((path) => CODE.test(path));
    const links = yield* selectIn<Found>(
      codes,
      (list) => sql`
      SELECT code, account_id, target_url FROM links
      WHERE code IN (${list}) AND ${domain_id} IN (coalesce(domain_id, ''), '*')`,
    );
    for (const link of links) found.set(keyOf({ domain_id, path: `/${link.code}` }), link);
  }
  return found;
}

/** As many new codes as there are links: none is in use, and none is an alias, which it would keep from its link. */
function* freeCodes(links: readonly ImportedLink[], generateCode: () => string): Reading<string[]> {
  const free = new Set<string>();
  const own = new Set(links.flatMap(addressesOf).map(({ path }) => path.slice(1)));
  const domains = [...new Set(links.map((link) => link.domain_id ?? ''))];
  for (let draw = 0; draw < MAX_CODE_DRAWS && free.size < links.length; draw += 1) {
    const drawn = Array.from({ length: links.length - free.size }, generateCode);
    const codes = drawn.filter((code) => !own.has(code));
    const paths = codes.map((code) => `/${code}`);
    const taken = yield* selectIn<{ code: string }>(
      codes,
      (list) => sql`SELECT code FROM links WHERE code IN (${list})`,
    );
    for (const domain of domains) {
      taken.push(
        ...(yield* selectIn<{ code: string }>(
          paths,
          (list) => sql`
        SELECT substr(path, 2) AS code FROM aliases WHERE domain_id = ${domain} AND path IN (${list})`,
        )),
      );
    }
    const inUse = new Set(taken.map(({ code }) => code));
    for (const code of codes) if (!inUse.has(code)) free.add(code);
  }
  return [...free];
}

function* insert(
  rows: readonly Statement[],
  statementOf: (list: Statement) => Statement,
): Writing<number> {
  let inserted = 0;
  for (const group of groupsOf(rows)) {
    inserted += (yield* rowsOf(statementOf(sqlList(group)))).length;
  }
  return inserted;
}

function* selectIn<Row extends object>(
  values: readonly SqlValue[],
  statementOf: (list: Statement) => Statement,
): Reading<Row[]> {
  const rows: Row[] = [];
  for (const group of groupsOf(values)) {
    const list = { text: group.map(() => '?').join(), values: group };
    for (const row of yield* rowsOf<Row>(statementOf(list))) rows.push(row);
  }
  return rows;
}

/** Groups of {@link VALUES_TOGETHER}, then smaller ones, each half as large as the one before. */
function* groupsOf<T>(values: readonly T[]): Generator<readonly T[]> {
  let at = 0;
  for (let size = VALUES_TOGETHER; size >= 1; size /= 2) {
    for (; at + size <= values.length; at += size) yield values.slice(at, at + size);
  }
}
