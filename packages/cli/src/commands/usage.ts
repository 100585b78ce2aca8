import type { ResourceUsage, Usage } from '@shortlink/sdk';
import type { Command } from 'commander';
import { CliError, EXIT_CODES, type ExitCode } from '../cli-error.ts';
import type { Context } from '../context.ts';
import { bar, formatCount, formatDuration, formatPercent } from '../format.ts';
import type { Printer } from '../output/printer.ts';
import { foreign } from '../output/sanitize.ts';
import { flow } from '../output/wrap.ts';
import { declareCommand, MAX_BATCH_LINKS, type Perform } from './declare.ts';

export function declareUsage(program: Command, perform: Perform): void {
  declareCommand(program, perform, {
    name: 'usage',
    description: 'Show how much of its plan the account has used.',
    tries: ['shortlink usage', 'shortlink usage --json | jq .links.used'],
    act: showUsage,
  });
}

async function showUsage(context: Context): Promise<ExitCode> {
  const account = await context.account();
  const shortlink = await context.client(account);
  const { NotFoundError } = await import('@shortlink/sdk');
  const usage = await context
    .interruptible((signal) => shortlink.usage.retrieve({ signal }))
    .catch((error: unknown) => {
      if (!NotFoundError.isInstance(error)) throw error;
      throw new CliError(`The service at ${account.baseUrl} does not report usage.`, {
        code: 'not_supported',
        exitCode: EXIT_CODES.error,
        hint: 'GET /api/v1/usage is an extension of the reference server. Other services show the usage on their own pages.',
        cause: error,
      });
    });
  context.printer.result(usage, renderUsage(usage, context.printer, Date.now()));
  return EXIT_CODES.ok;
}

const NAME_WIDTH = 21;

/** Columns of the counts. */
const COUNTS_WIDTH = 46;
const MAX_BAR = 24;
const MIN_BAR = 8;

/** A limit is near from this fraction on. */
const NEAR = 0.8;

function renderUsage(
  usage: Usage,
  { outStyle: style, outWidth: width = Number.POSITIVE_INFINITY }: Printer,
  now: number,
): string {
  const line = (name: string, ...parts: string[]) =>
    flow([style.bold(name.padEnd(NAME_WIDTH)), parts.join(' ')], { width, gap: 0, indent: 2 });
  const limit = (name: string, of: ResourceUsage & { resets_at?: string }) => {
    const barWidth = Math.min(MAX_BAR, width - NAME_WIDTH - COUNTS_WIDTH);
    if (of.limit === null) return line(name, `${formatCount(of.used)}, no limit`);
    // A limit of 0 is reached at once.
    const fraction = of.limit === 0 ? 1 : of.used / of.limit;
    const paint = fraction >= 1 ? style.red : fraction >= NEAR ? style.yellow : style.green;
    const resetMs = Date.parse(of.resets_at ?? '') - now;
    return line(
      name,
      ...(barWidth < MIN_BAR ? [] : [paint(bar(fraction, barWidth))]),
      formatPercent(fraction).padStart(4),
      ` ${formatCount(of.used)} of ${formatCount(of.limit)}`,
      ...(resetMs > 0 ? [style.dim(` resets in ${formatDuration(resetMs)}`)] : []),
    );
  };
  const { requests, batch_size: batch } = usage;
  return [
    line('Plan', foreign(usage.plan)),
    limit('Requests this minute', requests.minute),
    limit('Requests today', requests.day),
    limit('Requests this month', requests.month),
    limit('Short links', usage.links),
    limit('API keys', usage.api_keys),
    line('Batch size', `up to ${formatCount(batch ?? MAX_BATCH_LINKS)} links`),
  ].join('\n');
}
