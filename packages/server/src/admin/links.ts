import type { Link } from '@shortlink/sdk/wire';
import type { LinkHistory } from '../store/operator-store.ts';
import type { Store } from '../store/store.ts';
import { type AdminCommand, found } from './command.ts';
import { registerUpdate } from './correct.ts';
import { registerExport } from './export.ts';
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

const LISTING = 'links list --account acc_7hVmWq2RkPzN';

type ShownLink = Link & Partial<LinkHistory>;

export function registerLinks(program: AdminCommand): void {
  const links = program.add(
    'links',
    'List, show, correct, enable, disable, export and import links.',
    LISTING,
    'links show Xk3pQ9z',
  );
  links
    .add(
      'list',
      'List the links of an account, newest first.',
      `${LISTING} --query example.com`,
      `${LISTING} --limit 1000 --json`,
    )
    .requiredOption('--account <id>', 'id of the account')
    .option('--query <text>', 'only links whose code, target URL or title contains this text')
    .option(
      '--limit <count>',
      `number of links to list, at most ${MAX_LINKS}`,
      parseCount(MAX_LINKS),
      DEFAULT_LINKS,
    )
    .option('--cursor <id>', 'continue after the link with this id', parseUuid)
    .onStore(async ({ store, err }, { account: accountId, ...search }: ListOptions) => {
      const found = await store.listLinks({ accountId, ...search });
      const last = found.at(-1);
      if (found.length === search.limit && last !== undefined) {
        err(`there may be more links: add --cursor ${last.id}`);
      }
      return { json: found, shown: found.map(toRow) };
    });
  const onLink = (
    verb: string,
    description: string,
    act: (store: Store, code: string) => Promise<ShownLink | undefined>,
  ) =>
    links
      .add(verb, description, `links ${verb} Xk3pQ9z`)
      .argument('<code>', 'short code of the link, or any of its addresses, also an old one')
      .onStore(async (work, named: string) => {
        const code = await findCode(work, named);
        const link = code === undefined ? undefined : await act(work.store, code);
        const json = found(link, 'link', named);
        if (verb === 'enable' && !json.is_active)
          work.err('It still responds with 410: its account is disabled, or its domain removed.');
        return { json, shown: toRecord(json) };
      });
  const what = 'Show a link: its old addresses and its corrections, too.';
  onLink('show', what, async (store, code) => {
    const link = await store.findLink(code);
    return link && { ...link, ...(await store.linkHistory(code)) };
  });
  onLink('enable', 'Let a link redirect again.', (store, code) => store.setLinkActive(code, true));
  onLink('disable', 'Let a link respond with 410 instead of redirecting.', (store, code) =>
    store.setLinkActive(code, false),
  );
  registerUpdate(links);
  registerExport(links);
  registerImport(links);
}

function toRecord({ aliases = [], corrections = [], ...link }: ShownLink) {
  const lines = (name: string, values: readonly string[]) =>
    values.map((value, at): [string, string] => [at === 0 ? name : `${name} ${at + 1}`, value]);
  const corrected = corrections.map(({ at, by, old_target, new_target, old_title, new_title }) => {
    const [before, after] = [JSON.stringify(old_title), JSON.stringify(new_title)];
    const target = old_target === new_target ? [] : [`${old_target} -> ${new_target}`];
    const title = new_title === undefined ? [] : [`title ${before} -> ${after}`];
    return [at, `by ${by}:`, ...target, ...title].join(' ');
  });
  const more = [...lines('alias', aliases), ...lines('corrected', corrected)];
  return { ...link, ...Object.fromEntries(more) };
}

function toRow({ code, is_active, click_count, created_at, target_url, title }: Link) {
  return {
    ...{ code, active: is_active ? 'yes' : 'no', clicks: click_count },
    ...{ created: created_at.slice(0, 10), target_url: cut(target_url), title: cut(title) },
  };
}

function cut(text: string): string {
  return text.length <= MAX_CELL_LENGTH ? text : `${text.slice(0, MAX_CELL_LENGTH - 1)}…`;
}
