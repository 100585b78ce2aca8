import type { Link } from '@shortlink/sdk/wire';
import type { Command } from 'commander';
import { requireAccount } from './accounts.ts';
import { type CommandContext, CommandFailed, databaseCommand, runOnStore } from './command.ts';
import { examples } from './help.ts';
import { parseCount, parseUuid } from './parse-options.ts';

interface ListOptions {
  account: string;
  query?: string;
  limit: number;
  cursor?: string;
}

const CODE = 'short code of the link: the last part of its short URL';

const DEFAULT_LINKS = 50;
const MAX_LINKS = 1_000;

/** Characters of a target URL or title in a table, at most; `--json` has all of them. */
const MAX_CELL_LENGTH = 80;

export function registerLinks(program: Command, context: CommandContext): void {
  const links = program.command('links').description('List, show, enable and disable links.');
  examples(links, 'links list --account acc_7hVmWq2RkPzN', 'links show Xk3pQ9z');
  registerList(links, context);
  examples(
    databaseCommand(links, 'show', 'Show a link.').argument('<code>', CODE),
    'links show Xk3pQ9z',
  ).action((code: string, _, command: Command) =>
    runOnStore(context, command, async (store) => ({
      json: requireLink(await store.findLink(code), code),
    })),
  );
  const verbs = [
    ['enable', true, 'Let a link redirect again.'],
    ['disable', false, 'Let a link respond with 410 instead of redirecting.'],
  ] as const;
  for (const [verb, active, description] of verbs) {
    examples(
      databaseCommand(links, verb, description).argument('<code>', CODE),
      `links ${verb} Xk3pQ9z`,
    ).action((code: string, _, command: Command) =>
      runOnStore(context, command, async (store) => ({
        json: requireLink(await store.setLinkActive(code, active), code),
      })),
    );
  }
}

function registerList(links: Command, context: CommandContext): void {
  const list = databaseCommand(links, 'list', 'List the links of an account, newest first.')
    .requiredOption('--account <id>', 'id of the account')
    .option('--query <text>', 'only links whose code, target URL or title contains this text')
    .option(
      '--limit <count>',
      `number of links to list, at most ${MAX_LINKS}`,
      parseCount(MAX_LINKS),
      DEFAULT_LINKS,
    )
    .option('--cursor <id>', 'continue after the link with this id', parseUuid)
    .action((options: ListOptions, command: Command) =>
      runOnStore(context, command, async (store) => {
        const { account: accountId, query, limit, cursor } = options;
        await requireAccount(store, accountId);
        const found = await store.listLinks({ accountId, query, limit, cursor });
        const last = found.at(-1);
        if (found.length === limit && last !== undefined) {
          context.err(`there may be more links: add --cursor ${last.id}`);
        }
        return {
          json: found,
          rows: found.map(toRow),
          optional: ['title', 'short_url', 'created', 'active'],
          flexible: { target_url: 30, title: 20 },
        };
      }),
    );
  examples(
    list,
    'links list --account acc_7hVmWq2RkPzN --query example.com',
    'links list --account acc_7hVmWq2RkPzN --limit 1000 --json',
  );
}

function toRow(link: Link) {
  return {
    code: link.code,
    short_url: link.short_url,
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

/** The command fails when the code is unknown. */
function requireLink(link: Link | undefined, code: string): Link {
  if (link === undefined) throw new CommandFailed(`link ${JSON.stringify(code)} not found`);
  return link;
}
