import { userInfo } from 'node:os';
import type { Link } from '@shortlink/sdk/wire';
import { Option } from 'commander';
import { ownHostsOf } from '../domain/hostnames.ts';
import { Problem } from '../domain/problem.ts';
import { targetHostMatcher } from '../domain/targets.ts';
import { type LinkRules, validateLink } from '../domain/validate-link.ts';
import { changedLink } from '../store/links.ts';
import type { LinkCorrection } from '../store/operator-store.ts';
import type { Domain, Store } from '../store/store.ts';
import { type AdminCommand, CommandFailed, type Work } from './command.ts';
import { findCode } from './moving/address.ts';
import { COLUMNS } from './moving/own-format.ts';
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

/** What shall change in which link, and the place in the file that says so. */
type Change = Omit<LinkCorrection, 'by' | 'now'> & { where?: string; problem?: string | undefined };

/** Without `--yes`, a file corrects at most this many links of an account, and at most this share of them. */
const MOST_WITHOUT_YES = 100;
const MOST_PERCENT_WITHOUT_YES = 30;
const MAX_PROBLEMS = 100;

export function registerUpdate(links: AdminCommand): void {
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
        'correct many: a table with code or short_url, and target_url, title or both; also if_target',
      ).conflicts(['target', 'title', 'ifTarget']),
    )
    .option('--dry-run', 'say what would be changed, and change nothing')
    .option(
      '--yes',
      `change more than ${MOST_WITHOUT_YES} links of an account, or ${MOST_PERCENT_WITHOUT_YES} % of them`,
    )
    .onStore(async (work, code: string | undefined, options: UpdateOptions) => {
      const { store, err } = work;
      const { target: target_url, title, ifTarget, from } = options;
      const { by = userName(work), dryRun = false, yes = false } = options;
      if ((code === undefined) === (from === undefined)) {
        links.error('error: give the code of a link, or --from with a file of corrections');
      }
      if (from === undefined && target_url === undefined && title === undefined) {
        links.error('error: nothing to change: give --target or --title');
      }
      const one = { code: code ?? '', target_url, title, ifTarget };
      const changes = from === undefined ? [one] : await changesIn(from, work);
      const planned = await planOf(work, changes);
      // After a crash the same file is given again: what is right already is left out.
      const plan = from === undefined ? planned : planned.filter(({ changed }) => changed);
      const right = planned.length - plan.length;
      if (right > 0) err(`already right: ${right} of the links`);
      if (!yes && from !== undefined && !dryRun) await refuseMany(store, plan);
      const titles = plan.some(({ link, value }) => value.title !== link.title);
      const json = plan.map(({ link, value }) => ({
        ...{ code: link.code, old_target: link.target_url, new_target: value.target_url },
        ...(titles && { old_title: link.title, new_title: value.title }),
      }));
      if (dryRun) return { json };
      const [corrected = {}] = await correctAll(work, plan, by);
      if (from !== undefined) return { json };
      if (plan[0]?.changed === false) err('nothing changed: the link is like that already');
      return { json: corrected };
    });
}

/** Keys of the columns that a file of corrections may have. People make one from an export, so that all columns of that are allowed, and one without a name. */
const KNOWN = ['', 'if_target', 'account_id', ...COLUMNS].map((name) => name.replaceAll('_', ''));

const ONLY = 'only code or short_url, target_url, title, if_target, and those of an export';

async function changesIn(file: string, work: Work): Promise<Change[]> {
  const { openSource } = await import('./moving/read-source.ts');
  const source = await openSource(file, work);
  if (!['code', 'shorturl'].some((name) => source.columns.has(name))) {
    throw new CommandFailed(`${source.name}: it has no column "code" or "short_url"`);
  }
  const changes: Change[] = [];
  for await (const rows of source.read()) {
    for (const { line, problem, values } of rows) {
      const text = (name: string) => String(values.get(name) ?? '') || undefined;
      const [target_url, ifTarget] = [text('targeturl'), text('iftarget')];
      // An empty cell of a table has no value. In JSON, a title may be an empty text.
      const title = values.get('title') === '' ? '' : text('title');
      const where = `${source.name}, ${source.unit} ${line}: `;
      const unknown = [...values.keys()].find((key) => !KNOWN.includes(key));
      if (unknown !== undefined) {
        throw new CommandFailed(`${where}corrections have no column "${unknown}", ${ONLY}`);
      }
      const code = text('code') ?? text('shorturl') ?? '';
      changes.push({ code, target_url, title, ifTarget, where, problem });
    }
  }
  return changes;
}

interface Planned {
  change: Pick<LinkCorrection, 'target_url' | 'title'>;
  link: Link;
  /** The link as it shall be. */
  value: Link;
  changed: boolean;
}

/** Checks all corrections, so that none is made where one can't be. */
async function planOf(work: Work, changes: readonly Change[]): Promise<Planned[]> {
  const { store } = work;
  const rules = linkRules(work, await store.listDomains());
  const plan = new Map<string, Planned>();
  const problems: string[] = [];
  for (const { where = '', problem: unread, ...change } of changes) {
    const code = await findCode(work, change.code);
    const link = code === undefined ? undefined : await store.findLink(code);
    const problem =
      unread ??
      (link ? problemOf(change, link, rules) : `link ${JSON.stringify(change.code)} not found`) ??
      (await mayLeadBack(work, change)) ??
      (plan.has(code ?? '') && `link ${code} is corrected twice`);
    if (problem) problems.push(where + problem);
    else if (link) plan.set(link.code, { change, link, ...changedLink(link, change) });
  }
  refuse(work, problems, problems.length === 1, "corrections can't be made");
  return [...plan.values()];
}

/** @throws CommandFailed with the one problem there is, or with the number of all, the first of which are said */
function refuse({ err }: Work, problems: readonly string[], isOne: boolean, what: string): void {
  if (problems.length === 0) return;
  if (isOne) throw new CommandFailed(problems[0] ?? '');
  for (const problem of problems.slice(0, MAX_PROBLEMS)) err(problem);
  throw new CommandFailed(`${problems.length} of the ${what}; nothing was changed`);
}

/** Why a link can't be corrected so. */
function problemOf(change: Change, link: Link, rules: LinkRules): string | undefined {
  const { target_url, title, ifTarget } = change;
  const { code } = link;
  if (target_url === undefined && title === undefined) {
    return `nothing to change of link ${code}: give a target or a title`;
  }
  // Where only the title changes, any target is fine.
  const anyHost = { ...rules, isOwnHost: () => false, isAllowedHost: () => true };
  const changed = { target_url: target_url ?? 'https://example.com/', title };
  try {
    validateLink(changed, target_url === undefined ? anyHost : rules);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return `link ${code}: ${error.message}`;
  }
  // When a file is given again, the links that it corrected before no longer lead to their old targets.
  const isOther = ifTarget !== undefined && ifTarget !== link.target_url;
  return isOther && changedLink(link, change).changed ? leadsTo(link) : undefined;
}

/** Where no public URL says which host is the service's own, each target with the path of a link may be that link. */
async function mayLeadBack(work: Work, { target_url }: Change) {
  if (work.settings.publicUrl !== undefined || target_url === undefined) return undefined;
  const code = await findCode(work, new URL(target_url).pathname);
  return (
    code &&
    `the target ${target_url} may lead back to this service, whose link ${code} has that path; set SHORTLINK_PUBLIC_URL`
  );
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

/** Nothing is changed where one of the links was since it was planned. */
async function correctAll(work: Work, plan: readonly Planned[], by: string): Promise<Link[]> {
  const { store, now } = work;
  const corrections = plan.map(({ change: { target_url, title }, link }) => {
    return { code: link.code, target_url, title, by, now, ifTarget: link.target_url };
  });
  const outcomes = await store.updateLinks(corrections);
  const problems = plan.flatMap(({ link }, at) => {
    const outcome = outcomes[at];
    return outcome?.ok ? [] : leadsTo({ ...link, ...outcome });
  });
  const meanwhile = `${plan.length} links were changed by somebody else meanwhile`;
  refuse(work, problems, plan.length === 1, meanwhile);
  return outcomes.flatMap((outcome) => (outcome.ok ? outcome.value : []));
}

/** The rules for links that operators give, as the service has them for those of its clients. None of them names a domain. */
export function linkRules({ settings, publicUrl }: Work, domains: readonly Domain[]): LinkRules {
  return {
    isOwnHost: ownHostsOf(publicUrl, domains).isOwnHost,
    isAllowedHost: targetHostMatcher({ allow: settings.targetAllow, deny: settings.targetDeny }),
    ownedDomains: new Set(),
    fineOrigins: new Set(),
  };
}

function leadsTo({ code, target_url }: Pick<Link, 'code' | 'target_url'>): string {
  return `link ${code} leads to ${target_url} now; it was not changed`;
}

/** The user of the operating system. In a container there may be a number only. */
function userName({ env }: Work): string {
  try {
    return userInfo().username;
  } catch {
    return env['USER'] ?? 'unknown';
  }
}
