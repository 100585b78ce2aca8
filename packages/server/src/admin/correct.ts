import { userInfo } from 'node:os';
import type { Link } from '@shortlink/sdk/wire';
import { type Command, Option } from 'commander';
import { ownHostsOf } from '../domain/hostnames.ts';
import { targetHostMatcher } from '../domain/targets.ts';
import { type BodyRules, validateLink } from '../domain/validate-link.ts';
import { publicUrlOf, type Settings } from '../settings.ts';
import type { CorrectionOutcome, LinkCorrection } from '../store/operator-store.ts';
import type { Store } from '../store/store.ts';
import { type CommandContext, CommandFailed, onStore, settingsOf } from './command.ts';
import { addCommand } from './help.ts';
import { findCode } from './moving/address.ts';
import { failureOfFile } from './moving/move-error.ts';
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

/** Links of an account that are corrected from a file without `--yes`: so many, and so many of a hundred. */
const MOST_WITHOUT_YES = 100;
const MOST_PERCENT_WITHOUT_YES = 30;

/** Corrections that are written at the same time, and then share the wait for the disk. */
const TOGETHER = 100;

/** `links update`: the way to correct a link that is printed already. */
export function registerUpdate(links: Command, context: CommandContext): void {
  const update = addCommand(
    links,
    'update',
    'Correct where links lead, or their titles. links show lists what was before, and who changed it.',
    'links update Xk3pQ9z --target https://example.com/right',
    'links update --from corrections.csv --dry-run',
  )
    .argument('[code]', 'short code of the link, or any of its addresses')
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
    );
  onStore(context, update, async (store, code: string | undefined, options: UpdateOptions) => {
    const { target: target_url, title, ifTarget, from } = options;
    const { by = userName(context), dryRun = false, yes = false } = options;
    if ((code === undefined) === (from === undefined)) {
      throw new CommandFailed('give the code of a link, or --from with a file of corrections');
    }
    const made = { by, now: context.now() };
    const one = { code: code ?? '', target_url, title, ifTarget, ...made };
    const corrections = from === undefined ? [one] : await correctionsIn(from, context.stdin, made);
    const settings = settingsOf(context, update);
    const planned = await planOf(store, settings, corrections);
    // A file that was killed is run again: what is right already is left out.
    const plan = from === undefined ? planned : planned.filter(({ isSame }) => !isSame);
    const right = planned.length - plan.length;
    if (right > 0) context.err(`already right: ${right} of the links`);
    if (!yes && from !== undefined && !dryRun) await refuseMany(store, plan);
    const rows = plan.map(({ link, correction }) => ({
      ...{ code: link.code, old_target: link.target_url },
      ...{ new_target: correction.target_url ?? link.target_url },
    }));
    if (dryRun) return { json: rows, rows };
    const done = await correctAll(store, plan);
    if (from !== undefined) return { json: rows, rows };
    if (!done[0]?.changed) context.err('nothing changed: the link is like that already');
    return { json: done[0]?.value ?? {} };
  });
}

/** Reads a table of corrections. */
async function correctionsIn(
  file: string,
  stdin: CommandContext['stdin'],
  made: Pick<LinkCorrection, 'by' | 'now'>,
): Promise<LinkCorrection[]> {
  const { openSource } = await import('./moving/read-source.ts');
  const corrections: LinkCorrection[] = [];
  let source: Awaited<ReturnType<typeof openSource>> | undefined;
  try {
    source = await openSource(file, stdin);
    if (!source.columns.has('code'))
      throw new CommandFailed(`${source.name}: it has no column "code"`);
    for await (const rows of source.read()) {
      for (const { values } of rows) {
        const text = (name: string) => {
          const value = String(values.get(name) ?? '');
          return value === '' ? undefined : value;
        };
        const code = text('code') ?? '';
        const [target_url, title, ifTarget] = [text('targeturl'), text('title'), text('iftarget')];
        corrections.push({ code, target_url, title, ifTarget, ...made });
      }
    }
  } catch (error) {
    throw failureOfFile(error);
  } finally {
    await source?.dispose();
  }
  return corrections;
}

interface Planned {
  correction: LinkCorrection;
  /** The link as it is. */
  link: Link;
  /** Whether it is already as it shall be. */
  isSame: boolean;
}

/** Checks all corrections, so that none is made where one can't be. */
async function planOf(
  store: Store,
  settings: Settings,
  corrections: readonly LinkCorrection[],
): Promise<Planned[]> {
  const rules = await linkRules(store, settings);
  const plan: Planned[] = [];
  const seen = new Set<string>();
  for (const { code: named, ...change } of corrections) {
    const { target_url, title, ifTarget } = change;
    const code = (await findCode(store, publicUrlOf(settings), named)) ?? named;
    const link = await store.findLink(code);
    if (link === undefined)
      throw new CommandFailed(failureOf(code, { ok: false, reason: 'unknown' }));
    if (target_url === undefined && title === undefined) {
      throw new CommandFailed(`nothing to change of link ${code}: give a target or a title`);
    }
    const problem = problemOf(change, rules);
    if (problem !== undefined) throw new CommandFailed(`link ${code}: ${problem}`);
    if (seen.has(code)) throw new CommandFailed(`link ${code} is corrected twice`);
    seen.add(code);
    const isSame =
      link.target_url === (target_url ?? link.target_url) && link.title === (title ?? link.title);
    // Of a file that is run again, what was corrected before leads elsewhere than to its old target.
    if (!isSame && ifTarget !== undefined && ifTarget !== link.target_url) {
      throw new CommandFailed(failureOf(code, { ok: false, reason: 'other_target', ...link }));
    }
    plan.push({ correction: { code, ...change }, link, isSame });
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
async function correctAll(store: Store, plan: readonly Planned[]) {
  const done: Extract<CorrectionOutcome, { ok: true }>[] = [];
  for (let start = 0; start < plan.length; start += TOGETHER) {
    const group = plan.slice(start, start + TOGETHER);
    const outcomes = await Promise.all(
      group.map(({ correction, link }) =>
        store.updateLink({ ...correction, ifTarget: link.target_url }),
      ),
    );
    for (const [at, outcome] of outcomes.entries()) {
      if (!outcome.ok) throw new CommandFailed(failureOf(group[at]?.link.code ?? '', outcome));
      done.push(outcome);
    }
  }
  return done;
}

/** The rules for links that operators give, as the service has them for those of its clients. */
export async function linkRules(
  store: Pick<Store, 'listDomains'>,
  settings: Settings,
  accountId?: string,
): Promise<BodyRules> {
  const domains = await store.listDomains();
  const owned = domains.filter((domain) => domain.account_id === accountId);
  return {
    isOwnHost: ownHostsOf(publicUrlOf(settings), domains).isOwnHost,
    isAllowedHost: targetHostMatcher({ allow: settings.targetAllow, deny: settings.targetDeny }),
    ownedDomains: new Set(owned.map(({ id }) => id)),
    fineOrigins: new Set(),
  };
}

/** What is wrong with the new target or title. */
function problemOf(
  { target_url, title }: Pick<LinkCorrection, 'target_url' | 'title'>,
  rules: BodyRules,
): string | undefined {
  // Where only the title changes, any target is fine.
  const link = { target_url: target_url ?? 'https://example.com/', title };
  const checked = validateLink(link, { ...rules, defaultDomainId: null });
  return checked.ok ? undefined : checked.details[0]?.message;
}

function failureOf(code: string, outcome: Extract<CorrectionOutcome, { ok: false }>): string {
  return outcome.reason === 'unknown'
    ? `link ${JSON.stringify(code)} not found`
    : `link ${code} leads to ${outcome.target_url} now; it was not changed`;
}

/** The user of the operating system. In a container there may be a number only. */
function userName({ env }: CommandContext): string {
  try {
    return userInfo().username;
  } catch {
    return env['USER'] ?? 'unknown';
  }
}
