import type { BatchResultItem, CreateLinkBody } from '@shortlink/sdk';
import { inputError, LineSplitter } from '@shortlink/tables/basics';
import type { Command } from 'commander';
import { CliError, EXIT_CODES, type ExitCode, exitCodeOf, usageError } from '../cli-error.ts';
import type { Context } from '../context.ts';
import { formatCount, plural } from '../format.ts';
import type { InputStream } from '../io.ts';
import { endOnAbort } from '../output/prompt.ts';
import { foreign, sanitize } from '../output/sanitize.ts';
import {
  collect,
  declareCommand,
  type LinkOptions,
  linkFields,
  type Perform,
  parseText,
  redirectTypeOption,
  STANDARD_STREAM,
} from './declare.ts';

interface CreateOptions extends LinkOptions {
  title?: string;
}

export function declareCreate(program: Command, perform: Perform): void {
  declareCommand(program, perform, {
    name: 'create',
    description:
      'Create a short link for each URL and print the short URLs, one a line. A URL that gets no link prints an empty line, so that line N of the output belongs to URL N. For many links, and to run the same command again, use: shortlink import',
    tries: [
      'shortlink create https://example.com/docs',
      'shortlink create https://example.com/docs --title Docs --tag docs --tag help',
      'shortlink create https://example.com/moved --redirect-type 301 --json',
      'shortlink create https://example.com/a https://example.com/b --tag spring',
      "grep '^https' notes.txt | shortlink create -",
    ],
    act: create,
  })
    .usage('[options] <url...|->')
    .argument(
      '[url...]',
      'destinations: absolute http: or https: URLs; - reads one a line from standard input',
    )
    .option('--title <text>', 'title of each link')
    .option('--tag <tag>', 'label of each link; may be given several times', collect)
    .option(
      '--domain <id>',
      'custom domain of the account (default: that of the service)',
      parseText,
    )
    .addOption(redirectTypeOption('HTTP status of the redirect'));
}

async function create(context: Context, urls: readonly string[], options: CreateOptions) {
  refuseWrongUrls(urls);
  const fields = { title: options.title, ...linkFields(options) };
  const [url = ''] = urls;
  if (url === STANDARD_STREAM) return createLinks(undefined, fields, context);
  return urls.length === 1
    ? createLink({ target_url: url, ...fields }, context)
    : createLinks(urls, fields, context);
}

function refuseWrongUrls(urls: readonly string[]): void {
  if (urls.length === 0) {
    throw usageError(
      'There is no URL to create a link for.',
      'Name one or more URLs, or - to read them from standard input.\nSee: shortlink create --help',
    );
  }
  if (urls.length > 1 && urls.includes(STANDARD_STREAM)) {
    throw usageError("Standard input (-) can't be combined with URLs.");
  }
}

async function createLink(body: CreateLinkBody, context: Context): Promise<ExitCode> {
  const { targetProblem } = await import('../import/map/target-problem.ts');
  const problem = targetProblem(body.target_url);
  if (problem !== undefined) throw usageError(`No link is created: ${problem}`);
  const shortlink = await context.client(await context.account());
  try {
    const link = await context.interruptible((signal) => shortlink.links.create(body, { signal }));
    context.printer.result(link, sanitize(link.short_url));
    reportCreated({ ...NONE, created: 1 }, context);
    return EXIT_CODES.ok;
  } catch (error) {
    const { isOutcomeUnknown } = await import('@shortlink/sdk');
    if (!isOutcomeUnknown(error) || error instanceof CliError) throw error;
    const reason = foreign(error instanceof Error ? error.message : String(error));
    throw new CliError(`It is not known whether the link was created: ${reason}`, {
      code: 'unknown_fate',
      exitCode: EXIT_CODES.unknownFate,
      hint: 'Look for it on the server before you create it again: there may be two otherwise.',
      cause: error,
    });
  }
}

type UrlOutcome = ReturnType<typeof outcomeOf>;

/** Creates links in batches, and prints each once those before it are settled. Without `urls`, standard input has one a line. */
async function createLinks(
  urls: readonly string[] | undefined,
  fields: Omit<CreateLinkBody, 'target_url'>,
  context: Context,
): Promise<ExitCode> {
  const shortlink = await context.client(await context.account());
  const { targetProblem } = await import('../import/map/target-problem.ts');
  const counts = { ...NONE };
  const print = (outcome: UrlOutcome) => {
    counts[outcome.status] += 1;
    printOutcome(outcome, context);
  };
  // The outcome of each URL that can't be sent, and nothing yet for one that was.
  const order: (UrlOutcome | undefined)[] = [];
  async function* source(): AsyncGenerator<CreateLinkBody> {
    for await (const url of urls ?? readLines(context.io.stdin)) {
      const error = targetProblem(url);
      order.push(error === undefined ? undefined : outcomeOf(url, 'rejected', { error }));
      if (error === undefined) yield { target_url: url, ...fields };
    }
  }
  const printRejected = () => {
    while (order[0] !== undefined) {
      print(order[0]);
      order.shift();
    }
  };
  try {
    await context.interruptible(async (signal) => {
      if (urls === undefined) endOnAbort(context.io.stdin, signal);
      const items = shortlink.links.createMany(source(), { signal, onUnknown: 'stop' });
      for await (const item of items) {
        printRejected();
        print(outcomeOf(item.input.target_url, item.outcome, item));
        order.shift();
      }
    });
    printRejected();
  } catch (error) {
    // An unknown outcome ends the run: the other URLs would be lost in the same outage.
    if (counts.unknown === 0) {
      context.printer.note(`Created before the error: ${plural(counts.created, 'link')}`);
      throw error;
    }
    if (order.length > 0) {
      context.printer.note('The URLs after these were not sent. Run the command again with them.');
    }
  }
  reportCreated(counts, context);
  return exitCodeOf(counts);
}

const NONE = { created: 0, rejected: 0, failed: 0, unknown: 0 };

/** Prints the counts on a terminal only: a script reads stdout, and a log has the errors. */
function reportCreated(counts: typeof NONE, { printer, globals }: Context): void {
  if (printer.width === undefined || globals.json === true) return;
  const { created, ...others } = counts;
  const rest = Object.entries(others).filter(([, count]) => count > 0);
  const parts = rest.map(([name, count]) => `${formatCount(count)} ${name}`);
  const text = [`${plural(created, 'link')} created`, ...parts].join(', ');
  printer.ended(rest.length === 0 ? 'success' : 'attention', text);
}

/** The objects of `--json`, and those of `import` results in JSON Lines, have these names. */
function outcomeOf(target_url: string, status: keyof typeof NONE, item: Partial<BatchResultItem>) {
  const { code = null, short_url = null, error = null } = item;
  return { target_url, code, short_url, status, error };
}

function printOutcome(outcome: UrlOutcome, { printer, globals }: Context): void {
  if (globals.json === true) {
    printer.json(outcome, true);
    return;
  }
  printer.data(sanitize(outcome.short_url ?? ''));
  if (outcome.status === 'created') return;
  const isUnknown = outcome.status === 'unknown';
  const [target, why] = [foreign(outcome.target_url), foreign(outcome.error ?? '')];
  printer.error({
    code: isUnknown ? 'unknown_fate' : 'not_created',
    message: isUnknown
      ? `It is not known whether the link to ${target} was created: ${why}`
      : `No link to ${target}: ${why}`,
    exitCode: isUnknown ? EXIT_CODES.unknownFate : EXIT_CODES.rowsFailed,
  });
}

/** The lines of standard input, trimmed, but for blank ones. Throws an InputError for bytes that are not UTF-8. */
async function* readLines(stdin: InputStream): AsyncGenerator<string> {
  const lines = new LineSplitter('standard input', 1, (line, text, start, end) => {
    const url = text.slice(start, end).trim();
    if (url.includes('\ufffd')) throw inputError(`standard input, line ${line}: it is not UTF-8`);
    return url;
  });
  for await (const text of stdin.setEncoding('utf8')) yield* lines.push(text);
  yield* lines.end();
}
