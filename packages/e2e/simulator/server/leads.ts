import type { Scheduler } from '../kernel/scheduler.ts';
import { type, typed } from './commands.ts';
import { type Create, type Ledger, targetOf } from './ledger.ts';
import { moveOf } from './move-files.ts';
import type { World } from './world.ts';

/** A target that a link has or may have. Times are steady ones, see {@link Scheduler.steady}. */
export interface Lead {
  /** Undefined: it leads nowhere. */
  target: string | undefined;
  begun: number;
  /** When the operator knew how it ended; undefined until then. */
  done: number | undefined;
  /** Whether the operator was told that the link has this target. */
  isCertain?: boolean;
}

/** How long an instance may show what was before, in milliseconds: a second, and what the order of steps adds to it. */
export const SEEN_MS = 1_500;

/** A link of a create that was acknowledged, by any number, and where it leads until it is corrected. */
export function linkOf(create: Create, which: number): { code: string; target: string } {
  const items = create.kind === 'link' ? [create.acknowledged] : create.acknowledged.results;
  const index = which % items.length;
  return { code: items[index].code, target: targetOf(create, index) };
}

/** Where a link has led from the beginning. */
export function leadTo(target: string | undefined): Lead {
  return { target, begun: Number.NEGATIVE_INFINITY, done: Number.NEGATIVE_INFINITY };
}

/** Whether a link may lead there at a time: no later correction has certainly taken the place of that one before. */
export function mayLeadTo(leads: readonly Lead[], target: string | undefined, at: number): boolean {
  const isReplaced = ({ done = Number.POSITIVE_INFINITY }: Lead) =>
    leads.some((later) => later.isCertain && later.begun > done && (later.done ?? at) < at);
  return leads.some((lead) => lead.target === target && !isReplaced(lead));
}

/** Whether a visitor may be sent there, who asks at this time. */
export function maySee(leads: readonly Lead[], target: string | undefined, at: number): boolean {
  return mayLeadTo(leads, target, at - SEEN_MS);
}

/** What is shown of a link. */
interface Shown {
  corrections: { old_target: string; new_target: string }[];
}

/** Each corrected link leads where it should, and its history says how it came to that. */
export async function judgeCorrections(world: World, ledger: Ledger): Promise<string | undefined> {
  for (const [code, leads] of ledger.leads) {
    const [first] = leads;
    const [row] = await world.rows<{ account_id: string; target_url: string }>(
      'SELECT account_id, target_url FROM links WHERE code = ?',
      code,
    );
    if (row === undefined || first?.target === undefined) continue;
    if (!mayLeadTo(leads, row.target_url, Number.POSITIVE_INFINITY))
      return `${code} leads to ${row.target_url} in the end`;
    const { account_id, target_url } = row;
    const [found] = await world.operate((store) =>
      store.findLinks(account_id, [{ target_url, domain_id: null }], 1_000),
    );
    if (found?.every((link) => link.code !== code)) return `${code} is not found by ${target_url}`;
    const { corrections }: Shown = await typed(world, 'links', 'show', code);
    const chain = [first.target, ...corrections.map(({ new_target }) => new_target)];
    const isChain = corrections.every(({ old_target }, at) => old_target === chain[at]);
    const isWhole = leads.every(
      ({ target, isCertain }) => !isCertain || chain.includes(`${target}`),
    );
    if (!isChain || !isWhole || chain.at(-1) !== row.target_url)
      return `the history of ${code} is ${chain.join(' -> ')}`;
  }
  return undefined;
}

/** What moved in is there once, under its old addresses. The same import again changes nothing, or does the rest of what failed. */
export async function judgeMoves(world: World, ledger: Ledger): Promise<string | undefined> {
  for (const [index, { account, service, at, links, isCertain }] of ledger.moves.entries()) {
    const { words, stdin } = moveOf(service, account.id, links, at);
    const { err, json } = await type(world, words, { stdin });
    const { created, exists } = json ?? {};
    if (created + exists !== links.length || (isCertain && created > 0))
      return `move ${index + 1} again: ${JSON.stringify(json)} ${err}`;
    for (const { target, code, paths } of links) {
      const rows = await world.rows<{ code: string; paths: number }>(
        `SELECT code, (SELECT count(*) FROM aliases WHERE aliases.code = links.code) AS paths
         FROM links WHERE target_url = ?`,
        target,
      );
      const [link] = rows;
      const isWhole = link?.paths === paths.length && link.code === (code ?? link.code);
      if (rows.length !== 1 || !isWhole) return `of ${target} there is ${JSON.stringify(rows)}`;
    }
  }
  return undefined;
}

/** Links that moved to an account, whatever its plan allows. */
export function movedTo(ledger: Ledger, { id }: { id: string }): number {
  const moves = ledger.moves.filter(({ account }) => account.id === id);
  return moves.reduce((sum, { links }) => sum + links.length, 0);
}
