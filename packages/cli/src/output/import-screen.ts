import type { Plan } from '@shortlink/tables/basics';
import { formatCount, formatDuration, plural, present } from '../format.ts';
import type { Existing, Forecast, ImportEvent } from '../import/types.ts';
import { mappingOf } from './json-events.ts';
import type { Printer } from './printer.ts';
import { sanitize } from './sanitize.ts';
import { flow, wrapWords } from './wrap.ts';

const SHOWN_REJECTS = 5;

/** Characters of a name or of a URL. */
const MAX_NAME = 60;

/** What an event of an import says to people. Undefined where it is worth no line of its own. */
export function drawEvent(event: ImportEvent, file: string, printer: Printer) {
  const { width } = printer;
  const indented = (text: string) => wrapWords(sanitize(text).replace(/^/, '  '), width);
  switch (event.type) {
    case 'validated':
      return wrapWords(head(event, file, printer), width);
    case 'compared':
      return comparison(event).map(indented).join('\n') || undefined;
    case 'forecast':
      return planLines(event.forecast).map(indented).join('\n');
    default:
      return undefined;
  }
}

function head(event: Extract<ImportEvent, { type: 'validated' }>, file: string, printer: Printer) {
  const { plan, rows, rejected, firstRejects } = event;
  const { bold, dim } = printer.errStyle;
  const { width } = printer;
  const shown = firstRejects.slice(0, SHOWN_REJECTS);
  const more = rejected - shown.length;
  const validity = rejected === 0 ? 'all valid' : `${formatCount(rejected)} can't be sent`;
  const top = present(
    bold(file === '-' ? 'standard input' : sanitize(file)),
    rows > 0 && `${plural(rows, 'row')}, ${validity}`,
    dim(`(${sanitize(kindOf(plan))})`),
  );
  const [first, ...others] = mappingTexts(plan).map(sanitize);
  const notes = [
    ...plan.notes,
    ...shown.map(({ line, reason }) => `line ${line}: ${reason}`),
    ...present(more > 0 && `and ${formatCount(more)} more`),
  ];
  const lines = present(
    flow(top, { width, gap: 3, indent: 2 }),
    first !== undefined && flow([`  ${first}`, ...others], { width, gap: 4, indent: 2 }),
    ...notes.map((note) => `  ${sanitize(note)}`),
  );
  return lines.join('\n');
}

const FORMAT_NAMES = {
  csv: 'CSV',
  tsv: 'TSV',
  jsonl: 'JSON lines',
  urls: 'list of URLs',
  xlsx: 'Excel workbook',
} as const satisfies Record<Plan['format'], string>;

const DELIMITER_NAMES: Readonly<Record<string, string>> = {
  ',': 'comma',
  ';': 'semicolon',
  '\t': 'tab',
  '|': 'pipe',
};

function sheetOf({ name, number, of }: NonNullable<Plan['sheet']>): string {
  const place = number === 0 ? ' (hidden)' : of > 1 ? ` (${number} of ${of})` : '';
  return `sheet ${JSON.stringify(cut(name))}${place}`;
}

function kindOf({ format, encoding, delimiter = ',', sheet, hasHeader }: Plan): string {
  const separator = DELIMITER_NAMES[delimiter] ?? JSON.stringify(delimiter);
  return present(
    FORMAT_NAMES[format],
    sheet !== undefined && sheetOf(sheet),
    format !== 'xlsx' && encoding.toUpperCase(),
    format === 'csv' && `${separator}-separated`,
    format !== 'urls' && !hasHeader && 'no header',
  ).join(', ');
}

/** Where columns have no name, the first URL shows whether the right one was found. */
function mappingTexts(plan: Plan): string[] {
  if (plan.format === 'urls') return [];
  const { firstUrl } = plan;
  return Object.entries(mappingOf(plan)).map(([field, column]) => {
    if (typeof column === 'string') return `${field} ← ${cut(column)}`;
    const example = field === 'target_url' && firstUrl !== undefined ? ` (${cut(firstUrl)})` : '';
    return `${field} ← column ${column}${example}`;
  });
}

function cut(text: string): string {
  return text.length > MAX_NAME ? `${text.slice(0, MAX_NAME)}…` : text;
}

function comparison({ new: fresh, existing, changed, changedLines, ...old }: Existing): string[] {
  const more = changed > changedLines.length ? ', …' : '';
  const { gone, goneLinks } = old;
  const urls = `${goneLinks.join(', ')}${gone > goneLinks.length ? ', …' : ''}`;
  const lines = `${changedLines.length === 1 ? 'line' : 'lines'} ${changedLines.join(', ')}${more}`;
  return present(
    existing > 0 &&
      fresh > 0 &&
      `${plural(fresh, 'new row')}, ${formatCount(existing)} already imported`,
    changed > 0 &&
      `${plural(changed, 'row')} changed since the link was created (${lines}). A link can't be changed, so it stays as it was.`,
    gone > 0 &&
      `${plural(gone, 'link')} of rows that were removed, or lead elsewhere now: left as they are (${urls})`,
  );
}

function planLines(forecast: Forecast): string[] {
  const { links, unsent, requests, room, durationMs = 0, plan, requestsPerMinute } = forecast;
  const limits = present(
    `batches of ${formatCount(forecast.batchSize)}`,
    requestsPerMinute !== undefined && `${plural(requestsPerMinute, 'request')} a minute`,
    room === 0 && 'no room for more links',
    room !== undefined && room > 0 && `room for ${plural(room, 'more link')}`,
  ).join(', ');
  const work = present(
    links > 0 && `${plural(links, 'link')} to create in about ${plural(requests, 'request')}`,
    durationMs >= 1000 && `about ${formatDuration(durationMs)}`,
    unsent > 0 && `${plural(unsent, 'row')} unsent`,
  ).join(', ');
  const text = plan === undefined ? limits : `${plan} plan: ${limits}`;
  const capitalized = text.charAt(0).toUpperCase() + text.slice(1);
  return present(capitalized, (requests > 1 || unsent > 0) && work);
}
