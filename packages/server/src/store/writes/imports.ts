import { CODE, CODE_ALPHABET, CODE_LENGTH } from '../../domain/ids.ts';
import type { Engine, ReadEngine } from '../engine.ts';
import {
  type Alias,
  ANY_DOMAIN,
  type ImportedLink,
  type ImportOutcome,
  type LinkImport,
} from '../operator-store.ts';
import { accountReads } from '../queries/accounts.ts';
import type { LinkRow } from '../queries/links.ts';
import { type Reading, rowsOf, type Statement, sql, type Writing } from '../queries/reading.ts';
import { StoreError } from '../store-error.ts';
import { rankLinks } from './clicks.ts';
import { insertUnderNewCodes } from './insert-links.ts';

type Found = Pick<LinkRow, 'code' | 'account_id' | 'target_url'>;

interface Plan {
  outcomes: ImportOutcome[];
  /** Those without a code of their own get one when they are inserted. */
  created: (ImportedLink & Found)[];
  aliases: (Alias & { at: Found })[];
}

const keyOf = ({ domain_id, path }: Alias) => domain_id + path;

/** The addresses of a link: that of its code, if it brings one, and its aliases. */
function addressesOf({ code, domain_id, aliases }: ImportedLink): readonly Alias[] {
  if (code === undefined) return aliases;
  const domains = [domain_id ?? '', ANY_DOMAIN];
  return [...domains.map((domain) => ({ domain_id: domain, path: `/${code}` })), ...aliases];
}

export function* checkImport(engine: ReadEngine, input: LinkImport): Reading<ImportOutcome[]> {
  return (yield* planImport(engine, input)).outcomes;
}

export function* importLinks(
  engine: Engine,
  { accountId: account_id, links, step = { number: 0, of: 1 } }: LinkImport,
): Writing<ImportOutcome[]> {
  const { table } = engine;
  const plan = yield* planImport(engine, { accountId: account_id, links }, engine.locked);
  const { created } = plan;
  const [named, others] = [created.filter(({ code }) => code), created.filter(({ code }) => !code)];
  const inserted = named.length === 0 ? { size: 0 } : yield* engine.insertRows(named);
  // A code that is an address of one of these links would keep it from that link.
  const taken = new Set(links.flatMap(addressesOf).map(({ path }) => path.slice(1)));
  const newCode = () => codeOfStep(engine.generateCode(), step);
  yield* insertUnderNewCodes(engine, others, newCode, taken);
  const aliases = plan.aliases.map(({ at: { code }, ...alias }) => ({ ...alias, code }));
  const added = yield* rowsOf(sql`
    INSERT INTO aliases (domain_id, path, code)
      SELECT domain_id, path, code FROM ${table(['domain_id', 'path', 'code'], aliases)} WHERE true
    ON CONFLICT DO NOTHING RETURNING 1 AS inserted`);
  if (inserted.size < named.length || added.length < aliases.length) {
    throw new StoreError('busy', 'Another process took one of the addresses meanwhile. Try again.');
  }
  const clicks = created.filter(({ click_count }) => click_count > 0);
  clicks.sort((a, b) => b.click_count - a.click_count);
  yield* rowsOf(sql`
    INSERT INTO link_clicks (code, clicks)
      SELECT code, CAST(click_count AS bigint) FROM ${table(['code', 'click_count'], clicks)}`);
  yield* rowsOf(sql`
    UPDATE link_totals SET used = used + ${created.length} WHERE account_id = ${account_id}`);
  yield* rankLinks(engine, clicks);
  return plan.outcomes;
}

/** Links are taken in order, so that one of an earlier row exists for the later rows. */
function* planImport(engine: ReadEngine, input: LinkImport, lock?: Statement): Reading<Plan> {
  const { accountId, links } = input;
  const inService = yield* accountReads.ownedDomains(engine, accountId, lock);
  const known = yield* findAddresses(engine, links.flatMap(addressesOf));
  const plan: Plan = { outcomes: [], created: [], aliases: [] };
  for (const link of links) {
    const addresses = addressesOf(link);
    const found = addresses.flatMap((address) => {
      const at = known.get(keyOf(address));
      return at === undefined ? [] : { at, address };
    });
    const other = yield* leadsElsewhere(found, accountId, link.target_url);
    if (other !== undefined) {
      const { address, at } = other;
      const account_id = at.account_id === accountId ? undefined : at.account_id;
      plan.outcomes.push({ state: 'conflict', address, target_url: at.target_url, account_id });
      continue;
    }
    const created = { ...link, code: link.code ?? '', account_id: accountId };
    const at = found[0]?.at ?? created;
    // A link that exists under another code gets the code of this one as an alias: it may be printed.
    const wanted = found.length === 0 ? link.aliases : addresses;
    const unknown = wanted.filter((one) => one.domain_id !== ANY_DOMAIN && !known.has(keyOf(one)));
    const missing = [...new Map(unknown.map((one) => [keyOf(one), one])).values()];
    const domains = missing.map(({ domain_id }) => domain_id);
    if (found.length === 0) domains.push(link.domain_id ?? '');
    const removed = domains.find((id) => id !== '' && !inService.has(id));
    if (removed !== undefined) {
      plan.outcomes.push({ state: 'removed', domain_id: removed });
      continue;
    }
    const state = missing.length === 0 ? 'exists' : 'extended';
    plan.outcomes.push({ state: found.length === 0 ? 'created' : state });
    if (found.length === 0) plan.created.push(created);
    plan.aliases.push(...missing.map((alias) => ({ ...alias, at })));
    const { target_url } = link;
    const here = at.target_url === target_url ? at : { ...at, target_url };
    for (const address of addresses)
      if (!known.has(keyOf(address))) known.set(keyOf(address), here);
  }
  return plan;
}

/** The first of these that is another account's, or leads elsewhere and always did. */
function* leadsElsewhere<F extends { at: Found }>(
  found: readonly F[],
  accountId: string,
  target: string,
): Reading<F | undefined> {
  for (const one of found) {
    const { code, account_id, target_url } = one.at;
    if (account_id !== accountId) return one;
    if (target_url === target) continue;
    const corrected = yield* rowsOf(sql`
      SELECT 1 AS corrected FROM corrections WHERE code = ${code} AND old_target = ${target}`);
    if (corrected.length === 0) return one;
  }
  return undefined;
}

/** Where addresses lead, by alias or by code, by {@link keyOf}. Those that lead nowhere are left out. */
function* findAddresses(
  { table }: ReadEngine,
  addresses: readonly Alias[],
): Reading<Map<string, Found>> {
  const paths = addresses.filter(({ domain_id }) => domain_id !== ANY_DOMAIN);
  // The CROSS JOINs let SQLite look each address up, in this order.
  const byAlias = yield* rowsOf<Found & Alias>(sql`
    SELECT listed.domain_id, listed.path, links.code, account_id, target_url
    FROM ${table(['domain_id', 'path'], paths)} CROSS JOIN aliases JOIN links ON links.code = aliases.code
    WHERE aliases.domain_id = listed.domain_id AND aliases.path = listed.path`);
  const named = new Set(addresses.map(({ path }) => path.slice(1)));
  const codes = [...named].filter((code) => CODE.test(code)).map((code) => ({ code }));
  const byCode = yield* rowsOf<Found & { domain_id: string | null }>(sql`
    SELECT links.code, account_id, target_url, domain_id
    FROM ${table(['code'], codes)} CROSS JOIN links WHERE links.code = listed.code`);
  const found = new Map<string, Found>();
  for (const { domain_id, path, ...link } of byAlias) found.set(keyOf({ domain_id, path }), link);
  for (const { domain_id, ...link } of byCode) {
    for (const id of [ANY_DOMAIN, domain_id ?? ''])
      found.set(keyOf({ domain_id: id, path: `/${link.code}` }), link);
  }
  return found;
}

/** A code of one of so many equal parts of all codes, in which each is as likely as any other. */
function codeOfStep(code: string, { number, of }: NonNullable<LinkImport['step']>): string {
  const base = CODE_ALPHABET.length;
  const drawn = [...code].reduce((sum, digit) => sum * base + CODE_ALPHABET.indexOf(digit), 0);
  let rest = Math.floor((number * base ** CODE_LENGTH + drawn) / of);
  let digits = '';
  while (digits.length < CODE_LENGTH) {
    digits = CODE_ALPHABET.charAt(rest % base) + digits;
    rest = Math.floor(rest / base);
  }
  return digits;
}
