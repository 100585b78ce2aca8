import { setFlagsFromString } from 'node:v8';
import { InputError } from '@shortlink/tables/basics';
import { InvalidArgumentError, Option } from 'commander';
import { hostOfUrl, normalizeHost } from '../domain/hostnames.ts';
import type { Domain } from '../store/store.ts';
import { type AdminCommand, CommandFailed } from './command.ts';
import { linkRules } from './correct.ts';
import { SOURCES, type SourceName } from './moving/services.ts';
import { parseDelimiter, parseEncoding } from './parse-options.ts';

interface ImportOptions {
  account: string;
  delimiter?: string;
  encoding?: string;
  from: SourceName | 'auto';
  host?: Map<string, string>;
  dryRun?: boolean;
}

export function registerImport(links: AdminCommand): void {
  links
    .add(
      'import',
      'Move links in from another service. Their old addresses lead to them; nothing that exists is changed.',
      'links import bitly.csv --account acc_7hVmWq2RkPzN --dry-run',
      'links import bitly.json --account acc_7hVmWq2RkPzN \\\n      --host bit.ly=go.example.com',
    )
    .argument('<file...>', 'exports: tables in any format, JSON of an API; - is stdin')
    .requiredOption('--account <id>', 'account that gets the links, whatever its plan allows')
    .addOption(
      new Option('--from <service>', 'where the files are from')
        .choices(['auto', ...SOURCES])
        .default('auto'),
    )
    .option(
      '--host <old=ours>',
      'a host of the export, and the one of yours that takes its addresses; may be repeated',
      collectHost,
    )
    .option('--delimiter <character>', 'between cells (default: found by looking)', parseDelimiter)
    .option('--encoding <name>', 'such as windows-1252 (default: UTF-8 or UTF-16)', parseEncoding)
    .option('--dry-run', 'check everything, and write nothing')
    .onStore(async (work, files: string[], options: ImportOptions) => {
      const { store, settings, publicUrl } = work;
      const { account: accountId, from, host: hosts = new Map(), dryRun = false } = options;
      const { delimiter, encoding } = options;
      const domains = await store.listDomains({ removed: true });
      const hostname = hostOfUrl(publicUrl) ?? '';
      // A custom domain of the account may be the public host, too, and one that it had may be another account's by now.
      const own = domains.filter(({ account_id }) => account_id === accountId);
      const isServed = ({ removed }: Domain) => !removed;
      const setIt = settings.publicUrl
        ? ''
        : ', or set SHORTLINK_PUBLIC_URL if it is the public host';
      const ofDefault = { hostname, id: '', account_id: accountId };
      // The youngest objects of each thread would get 64 MB of room, however little of it is in use, and old ones would be left until there are
      // twice as many. An import makes a few megabytes again and again: it is no slower with a third of the memory.
      setFlagsFromString('--semi-space-growth-factor=1');
      setFlagsFromString('--heap-growing-percent=10');
      // Loaded here only: the other commands need no reader of tables.
      const { importLinks } = await import('./moving/import-links.ts');
      try {
        const counts = await importLinks(work, files, {
          ...{ accountId, from, dryRun, hosts, written: { delimiter, encoding } },
          toAdd: `add it with domains add${setIt}`,
          domains: [...domains.filter(isServed), ...own, ofDefault, ...own.filter(isServed)],
          rules: linkRules(work, domains),
        });
        return { json: { ...counts, dry_run: dryRun } };
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        const { message, hint = '' } = error;
        // Some name options that only the command line for clients has.
        const isForUs = hint !== '' && !/--(?!delimiter|encoding)/.test(hint);
        throw new CommandFailed(isForUs ? `${message}. ${hint}` : message, { problems: [] });
      }
    });
}

/** Reads one `--host OLD=OURS`; an empty OLD stands for paths without a host. */
function collectHost(text: string, before = new Map<string, string>()): Map<string, string> {
  const [old = '', ours = '', ...rest] = text.split('=');
  const [from, to] = [old === '' ? '' : normalizeHost(old), normalizeHost(ours)];
  if (from === undefined || to === undefined || rest.length > 0) {
    throw new InvalidArgumentError('Expected two hosts, such as bit.ly=go.example.com.');
  }
  const other = before.get(from);
  if (other !== undefined && other !== to) {
    throw new InvalidArgumentError(`${from || 'A path without a host'} leads to ${other} already.`);
  }
  return before.set(from, to);
}
