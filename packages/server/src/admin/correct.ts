import { userInfo } from 'node:os';
import type { Link } from '@shortlink/sdk/wire';
import { Option } from 'commander';
import { ownHostsOf } from '../domain/hostnames.ts';
import { targetHostMatcher } from '../domain/targets.ts';
import { type BodyRules, validateLink } from '../domain/validate-link.ts';
import { publicUrlOf, type Settings } from '../settings.ts';
import type { LinkCorrection } from '../store/operator-store.ts';
import type { Domain, Store } from '../store/store.ts';
import { type AdminCommand, type CommandContext, CommandFailed } from './command.ts';
import { findCode } from './moving/address.ts';
import { parseName } from './parse-options.ts';

interface UpdateOptions {
  from?: string;
  yes?: boolean;
  dryRun?: boolean;
  target?: string;
  title?: string;
  ifTarget?: string;
  by?: string;
}

/** What shall be different of which link. */
type Change = Omit<LinkCorrection, 'by' | 'now'>;

/** Links of an account that are corrected from a file without `--yes`: so many, and so many of a hundred. */
const MOST_WITHOUT_YES = 100;
const MOST_PERCENT_WITHOUT_YES = 30;

/** Corrections that are written at the same time, and then share the wait for the disk. */
const TOGETHER = 100;

/** `links update`: the way to correct a link that is printed already. */
export function registerUpdate(links: AdminCommand): void {
  const { context } = links;
  links
    .add(
      'update',
      'Correct where links lead, or their titles. links show lists what was before, and who changed it.',
      'links update Xk3pQ9z --target https://example.com/right',
      'links update --from corrections.csv --dry-run',
    )
    .argument('[code]', 'short code of the link, or any of its addresses, also an old one')
    .option('--target <url>', 'where the link shall lead')
    .option('--title <title>', 'new title; "" for none')
    .option('--if-target <url>', 'change it only if it leads there')
    .option('--by <name>', 'who changes it (default: your user name on this machine)', parseName)
    .addOption(
      new Option(
        '--from <file>',
        'correct many: a table with code, target_url, and, if it has them, title and if_target',
      ).conflicts(['target', 'title', 'ifTarget']),
    )
    .option('--dry-run', 'say what would be changed, and change nothing')
    .option(
      '--yes',
      `change more than ${MOST_WITHOUT_YES} links of an account, or ${MOST_PERCENT_WITHOUT_YES} % of them`,
    )
    .onStore(async ({ store, settings, now }, code: string | undefined, options: UpdateOptions) => {
      const { target: target_url, title, ifTarget, from } = options;
      const { by = userName(context), dryRun = false, yes = false } = options;
      if ((code === undefined) === (from === undefined)) {
        throw new CommandFailed('give the code of a link, or --from with a file of corrections');
      }
      const one = { code: code ?? '', target_url, title, ifTarget };
      const changes = from === undefined ? [one] : await changesIn(from, context.stdin);
      const planned = await planOf(store, settings, changes);
      // A file that was killed is run again: what is right already is left out.
      const plan = from === undefined ? planned : planned.filter(({ isSame }) => !isSame);
      const right = planned.length - plan.length;
      if (right > 0) context.err(`already right: ${right} of the links`);
      if (!yes && from !== undefined && !dryRun) await refuseMany(store, plan);
      const rows = plan.map(({ link, change }) => ({
        ...{ code: link.code, old_target: link.target_url },
        ...{ new_target: change.target_url ?? link.target_url },
      }));
      if (dryRun) return { json: rows, rows };
      const links = await correctAll(store, plan, { by, now });
      if (from !== undefined) return { json: rows, rows };
      if (plan[0]?.isSame) context.err('nothing changed: the link is like that already');
      return { json: links[0] ?? {} };
    });
}

/** Reads a table of corrections. */
async function changesIn(file: string, stdin: CommandContext['stdin']): Promise<Change[]> {
  const { openSource } = await import('./moving/read-source.ts');
  const source = await openSource(file, stdin);
  const changes: Change[] = [];
  try {
    if (!source.columns.has('code')) {
      throw new CommandFailed(`${source.name}: it has no column "code"`);
    }
    for await (const rows of source.read()) {
      for (const { values } of rows) {
        const text = (name: string) => String(values.get(name) ?? '') || undefined;
        const [target_url, title, ifTarget] = [text('targeturl'), text('title'), text('iftarget')];
        changes.push({ code: text('code') ?? '', target_url, title, ifTarget });
      }
    }
  } finally {
    await source.dispose();
  }
  return changes;
}

interface Planned {
  change: Change;
  /** The link as it is. */
  link: Link;
  /** Whether it is already as it shall be. */
  isSame: boolean;
}

/** Checks all corrections, so that none is made where one can't be. */
async function planOf(
  store: Store,
  settings: Settings,
  changes: readonly Change[],
): Promise<Planned[]> {
  const rules = linkRules(await store.listDomains(), settings);
  const plan: Planned[] = [];
  const seen = new Set<string>();
  for (const { code: named, ...change } of changes) {
    const { target_url, title, ifTarget } = change;
    const code = await findCode(store, publicUrlOf(settings), named);
    const link = code === undefined ? undefined : await store.findLink(code);
    if (code === undefined || link === undefined) {
      throw new CommandFailed(`link ${JSON.stringify(named)} not found`);
    }
    if (target_url === undefined && title === undefined) {
      throw new CommandFailed(`nothing to change of link ${code}: give a target or a title`);
    }
    // Where only the title changes, any target is fine.
    const changed = { target_url: target_url ?? 'https://example.com/', title };
    const checked = validateLink(changed, { ...rules, defaultDomainId: null });
    if (!checked.ok) throw new CommandFailed(`link ${code}: ${checked.details[0]?.message}`);
    if (seen.has(code)) throw new CommandFailed(`link ${code} is corrected twice`);
    seen.add(code);
    const isSame =
      link.target_url === (target_url ?? link.target_url) && link.title === (title ?? link.title);
    // Of a file that is run again, what was corrected before leads elsewhere than to its old target.
    if (!isSame && ifTarget !== undefined && ifTarget !== link.target_url) throw leadsTo(link);
    plan.push({ change: { code, ...change }, link, isSame });
  }
  return plan;
}

async function refuseMany(store: Store, plan: readonly Planned[]): Promise<void> {
  const codes = plan.map(({ link }) => link.code);
  for (const [account, { some: corrected, all }] of await store.countLinks(codes)) {
    const percent = (100 * corrected) / all;
    if (corrected <= MOST_WITHOUT_YES && percent <= MOST_PERCENT_WITHOUT_YES) continue;
    throw new CommandFailed(
      `this would change ${corrected} of the ${all} links of account ${account}; nothing was changed. Look at it with --dry-run, and add --yes if it is right`,
    );
  }
}

/** A link that was changed since it was planned is left as it is now; what was made before stays. */
async function correctAll(
  store: Store,
  plan: readonly Planned[],
  made: Pick<LinkCorrection, 'by' | 'now'>,
): Promise<Link[]> {
  const links: Link[] = [];
  for (let start = 0; start < plan.length; start += TOGETHER) {
    const group = plan.slice(start, start + TOGETHER).map(async ({ change, link }) => {
      const ifTarget = link.target_url;
      const outcome = await store.updateLink({ ...change, ...made, ifTarget });
      return outcome.ok ? outcome.value : leadsTo({ ...link, ...outcome });
    });
    for (const outcome of await Promise.all(group)) {
      if (outcome instanceof Error) throw outcome;
      links.push(outcome);
    }
  }
  return links;
}

/** The rules for links that operators give, as the service has them for those of its clients. */
export function linkRules(
  domains: readonly Domain[],
  settings: Settings,
  accountId?: string,
): BodyRules {
  const owned = domains.filter((domain) => domain.account_id === accountId);
  return {
    isOwnHost: ownHostsOf(publicUrlOf(settings), domains).isOwnHost,
    isAllowedHost: targetHostMatcher({ allow: settings.targetAllow, deny: settings.targetDeny }),
    ownedDomains: new Set(owned.map(({ id }) => id)),
    fineOrigins: new Set(),
  };
}

function leadsTo({ code, target_url }: Pick<Link, 'code' | 'target_url'>): CommandFailed {
  return new CommandFailed(`link ${code} leads to ${target_url} now; it was not changed`);
}

/** The user of the operating system. In a container there may be a number only. */
function userName({ env }: CommandContext): string {
  try {
    return userInfo().username;
  } catch {
    return env['USER'] ?? 'unknown';
  }
}
