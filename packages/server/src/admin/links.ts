import type { Link } from '@shortlink/sdk/wire';
import type { Command } from 'commander';
import { publicUrlOf } from '../settings.ts';
import type { LinkHistory } from '../store/operator-store.ts';
import type { Store } from '../store/store.ts';
import { requireAccount } from './accounts.ts';
import { type CommandContext, CommandFailed, onStore, settingsOf } from './command.ts';
import { registerUpdate } from './correct.ts';
import { registerExport } from './export.ts';
import { addCommand } from './help.ts';
import { registerImport } from './import.ts';
import { findCode } from './moving/address.ts';
import { parseCount, parseUuid } from './parse-options.ts';

interface ListOptions {
  account: string;
  query?: string;
  limit: number;
  cursor?: string;
}

const DEFAULT_LINKS = 50;
const MAX_LINKS = 1_000;

/** Characters of a target URL or title in a table, at most; `--json` has all of them. */
const MAX_CELL_LENGTH = 80;

const LINK = 'short code of the link, or any of its addresses, also an old one';

/** What a command does with one link; `undefined` for an unknown code. */
type LinkAction = (store: Store, code: string) => Promise<Link | undefined>;

/** A link, and what else an operator wants to know of it. */
type ShownLink = Link & Partial<LinkHistory>;

export function registerLinks(program: Command, context: CommandContext): void {
  const links = addCommand(
    program,
    'links',
    'List, show, correct, enable, disable, export and import links.',
    'links list --account acc_7hVmWq2RkPzN',
    'links show Xk3pQ9z',
  );
  registerList(links, context);
  const onLink = (verb: string, description: string, act: LinkAction) => {
    const command = addCommand(links, verb, description, `links ${verb} Xk3pQ9z`);
    command.argument('<code>', LINK);
    onStore(context, command, async (store, named: string) => {
      const publicUrl = publicUrlOf(settingsOf(context, command));
      const code = await findCode(store, publicUrl, named);
      const link: ShownLink | undefined = code === undefined ? undefined : await act(store, code);
      if (link !== undefined) return { json: link, record: toRecord(link) };
      throw new CommandFailed(`link ${JSON.stringify(named)} not found`);
    });
  };
  onLink(
    'show',
    'Show a link: its old addresses and its corrections, too.',
    async (store, code) => {
      const link = await store.findLink(code);
      return link && { ...link, ...(await store.linkHistory(code)) };
    },
  );
  onLink('enable', 'Let a link redirect again.', (store, code) => store.setLinkActive(code, true));
  onLink('disable', 'Let a link respond with 410 instead of redirecting.', (store, code) =>
    store.setLinkActive(code, false),
  );
  registerUpdate(links, context);
  registerExport(links, context);
  registerImport(links, context);
}

/** Each alias and each correction on a line of its own. */
function toRecord({ aliases = [], corrections = [], ...link }: ShownLink) {
  const lines = (name: string, values: readonly string[]) =>
    values.map((value, at): [string, string] => [at === 0 ? name : `${name} ${at + 1}`, value]);
  const corrected = corrections.map(({ at, by, old_target, new_target, old_title, new_title }) => {
    const target = old_target === new_target ? [] : [`${old_target} -> ${new_target}`];
    const title =
      new_title === undefined
        ? []
        : [`title ${[old_title, new_title].map((text) => JSON.stringify(text)).join(' -> ')}`];
    return [at, `by ${by}:`, ...target, ...title].join(' ');
  });
  return {
    ...link,
    ...Object.fromEntries([...lines('alias', aliases), ...lines('corrected', corrected)]),
  };
}

function registerList(links: Command, context: CommandContext): void {
  const list = addCommand(
    links,
    'list',
    'List the links of an account, newest first.',
    'links list --account acc_7hVmWq2RkPzN --query example.com',
    'links list --account acc_7hVmWq2RkPzN --limit 1000 --json',
  )
    .requiredOption('--account <id>', 'id of the account')
    .option('--query <text>', 'only links whose code, target URL or title contains this text')
    .option(
      '--limit <count>',
      `number of links to list, at most ${MAX_LINKS}`,
      parseCount(MAX_LINKS),
      DEFAULT_LINKS,
    )
    .option('--cursor <id>', 'continue after the link with this id', parseUuid);
  onStore(context, list, async (store, options: ListOptions) => {
    const { account: accountId, query, limit, cursor } = options;
    await requireAccount(store, accountId);
    const found = await store.listLinks({ accountId, query, limit, cursor });
    const last = found.at(-1);
    if (found.length === limit && last !== undefined) {
      context.err(`there may be more links: add --cursor ${last.id}`);
    }
    return { json: found, rows: found.map(toRow) };
  });
}

function toRow(link: Link) {
  return {
    code: link.code,
    active: link.is_active ? 'yes' : 'no',
    clicks: link.click_count,
    created: link.created_at.slice(0, 10),
    target_url: shortened(link.target_url),
    title: shortened(link.title),
  };
}

function shortened(text: string): string {
  return text.length <= MAX_CELL_LENGTH ? text : `${text.slice(0, MAX_CELL_LENGTH - 1)}…`;
}
