import type { ResourceUsage, Usage } from '@shortlink/sdk';
import type { Command } from 'commander';
import { CliError, EXIT_CODES, type ExitCode } from '../cli-error.ts';
import type { Context } from '../context.ts';
import { bar, formatCount, formatDuration } from '../output/format.ts';
import { sanitize } from '../output/sanitize.ts';
import type { Paint, Style } from '../output/style.ts';
import type { Perform } from './declare.ts';

export function declareUsage(program: Command, perform: Perform): void {
  program
    .command('usage')
    .description('Show what the account uses of what its plan allows.')
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink usage
  $ shortlink usage --json | jq .links.used`,
    )
    .action((_options: object, command: Command) => perform(command, showUsage));
}

async function showUsage(context: Context): Promise<ExitCode> {
  const account = await context.account();
  const [shortlink, { NotFoundError }] = await Promise.all([
    context.client(account),
    import('@shortlink/sdk'),
  ]);
  const usage = await context
    .interruptible((signal) => shortlink.usage.retrieve({ signal }))
    .catch((error: unknown) => {
      if (NotFoundError.isInstance(error)) {
        throw new CliError(`The service at ${account.baseUrl} does not report usage.`, {
          code: 'not_supported',
          exitCode: EXIT_CODES.error,
          hint: 'GET /api/v1/usage is an addition of the reference server; other deployments show usage in their own pages.',
          cause: error,
        });
      }
      throw error;
    });
  if (context.globals.json === true) {
    context.printer.json(usage);
  } else {
    context.printer.data(renderUsage(usage, context.printer.outStyle, Date.now()));
  }
  return EXIT_CODES.ok;
}

const BAR_WIDTH = 24;
const NAME_WIDTH = 21;

/** From here on a limit is near, and from 1 on it is reached. */
const NEAR = 0.8;

/** A line for each limit of the plan: a bar, the counts, and when the window begins anew. */
function renderUsage(usage: Usage, style: Style, now: number): string {
  const window = ({ used, limit, resets_at }: Usage['requests']['minute']) => {
    const left = Date.parse(resets_at) - now;
    return { used, limit, note: left > 0 ? `new in ${formatDuration(left)}` : '' };
  };
  const batch =
    usage.batch_size === null
      ? 'up to 10,000 links'
      : `up to ${formatCount(usage.batch_size)} links`;
  return [
    `${style.bold('Plan'.padEnd(NAME_WIDTH))}${sanitize(usage.plan)}`,
    line('Requests this minute', window(usage.requests.minute), style),
    line('Requests today', window(usage.requests.day), style),
    line('Requests this month', window(usage.requests.month), style),
    line('Short links', usage.links, style),
    line('API keys', usage.api_keys, style),
    `${style.bold('Batch size'.padEnd(NAME_WIDTH))}${batch}`,
  ].join('\n');
}

function line(name: string, of: ResourceUsage & { note?: string }, style: Style): string {
  const label = style.bold(name.padEnd(NAME_WIDTH));
  if (of.limit === null) {
    return `${label}${style.dim(bar(0, BAR_WIDTH))}  ${formatCount(of.used)}, no limit`;
  }
  // A limit of 0 is reached before anything is used.
  const fraction = of.limit === 0 ? 1 : of.used / of.limit;
  const percent = `${Math.floor(fraction * 100)}%`.padStart(4);
  const counts = `${percent}  ${formatCount(of.used)} of ${formatCount(of.limit)}`;
  const note = of.note === undefined || of.note === '' ? '' : style.dim(`, ${of.note}`);
  return `${label}${paintOf(fraction, style)(bar(fraction, BAR_WIDTH))} ${counts}${note}`;
}

function paintOf(fraction: number, style: Style): Paint {
  if (fraction >= 1) return style.red;
  return fraction >= NEAR ? style.yellow : style.green;
}
