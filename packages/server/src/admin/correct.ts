import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { ownHostsOf } from '../domain/hostnames.ts';
import { targetHostMatcher } from '../domain/targets.ts';
import { type BodyRules, validateLink } from '../domain/validate-link.ts';
import { publicUrlOf, type Settings } from '../settings.ts';
import type { CorrectionOutcome, LinkCorrection } from '../store/operator-store.ts';
import type { Store } from '../store/store.ts';
import { type CommandContext, CommandFailed, onStore, settingsOf } from './command.ts';
import { addCommand } from './help.ts';
import { parseName } from './parse-options.ts';

interface UpdateOptions {
  target?: string;
  title?: string;
  ifTarget?: string;
  by?: string;
}

/** `links update`: the way to correct a link that is printed already. */
export function registerUpdate(links: Command, context: CommandContext): void {
  const update = addCommand(
    links,
    'update',
    'Correct where a link leads, or its title. links show lists what was before, and who changed it.',
    'links update Xk3pQ9z --target https://example.com/right',
    'links update Xk3pQ9z --title "Spring sale" --by Ann',
  )
    .argument('<code>', 'short code of the link')
    .option('--target <url>', 'where the link shall lead')
    .option('--title <title>', 'new title; "" for none')
    .option('--if-target <url>', 'change it only if it leads there')
    .option('--by <name>', 'who changes it (default: your user name on this machine)', parseName);
  onStore(context, update, async (store, code: string, options: UpdateOptions) => {
    const { target: target_url, title, ifTarget, by = userName(context) } = options;
    if (target_url === undefined && title === undefined) {
      throw new CommandFailed('nothing to change: give --target or --title');
    }
    const correction = { code, target_url, title, ifTarget, by, now: context.now() };
    const problem = problemOf(correction, await linkRules(store, settingsOf(context, update)));
    if (problem !== undefined) throw new CommandFailed(problem);
    const outcome = await store.updateLink(correction);
    if (!outcome.ok) throw new CommandFailed(failureOf(code, outcome));
    if (!outcome.changed) context.err('nothing changed: the link is like that already');
    return { json: outcome.value };
  });
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
function problemOf({ target_url, title }: LinkCorrection, rules: BodyRules): string | undefined {
  // Where only the title changes, any target is fine.
  const link = { target_url: target_url ?? 'https://example.com/', title };
  const checked = validateLink(link, { ...rules, defaultDomainId: null });
  return checked.ok ? undefined : checked.details[0]?.message;
}

function failureOf(code: string, outcome: Extract<CorrectionOutcome, { ok: false }>): string {
  return outcome.reason === 'unknown'
    ? `link ${JSON.stringify(code)} not found`
    : `link ${code} leads to ${outcome.target_url} now; nothing was changed`;
}

/** The user of the operating system. In a container there may be a number only. */
function userName({ env }: CommandContext): string {
  try {
    return userInfo().username;
  } catch {
    return env['USER'] ?? 'unknown';
  }
}
