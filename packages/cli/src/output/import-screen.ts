import { formatCount, formatEstimate, plural } from '../format.ts';
import type { Existing, Forecast, ImportEvent, LinkField, Plan } from '../import/types.ts';
import { sanitize } from './sanitize.ts';
import type { Style } from './style.ts';
import { flow, wrapWords } from './wrap.ts';

/** Rejects shown on the screen; all of them are in the rejects file. */
const SHOWN_REJECTS = 5;

/** Characters of a column's name or of a URL that are shown. */
const MAX_NAME = 60;

/**
 * What an event of an import says to people, drawn for a terminal of `width` columns. Together these lines stand above the progress: what the
 * file is, how it is read, what the plan allows. Undefined where an event is worth no line of its own.
 */
export function drawEvent(
  event: ImportEvent,
  file: string,
  { style, width }: { style: Style; width: number | undefined },
): string | undefined {
  const indented = (text: string) => wrapWords(sanitize(text).replace(/^/, '  '), width);
  switch (event.type) {
    case 'validated':
      return head(event, file, style, width);
    case 'compared':
      return comparison(event).map(indented).join('\n') || undefined;
    case 'forecast':
      return planLines(event.forecast).map(indented).join('\n');
    default:
      return undefined;
  }
}

function head(
  { plan, rows, rejected, firstRejects }: Extract<ImportEvent, { type: 'validated' }>,
  file: string,
  { bold, dim }: Style,
  width: number | undefined,
): string {
  const shown = firstRejects.slice(0, SHOWN_REJECTS);
  const more = rejected - shown.length;
  const validity = rejected === 0 ? 'all valid' : `${formatCount(rejected)} can't be sent`;
  const name = file === '-' ? 'standard input' : sanitize(file);
  const top = [bold(name), ...(rows === 0 ? [] : [`${plural(rows, 'row')}, ${validity}`])];
  const mapping = mappingOf(plan).map((pair, index) => (index === 0 ? '  ' : '') + sanitize(pair));
  const notes = [
    ...plan.notes,
    ...shown.map(({ line, reason }) => `line ${line}: ${reason}`),
    ...(more > 0 ? [`and ${formatCount(more)} more`] : []),
  ];
  const lines = [
    flow([...top, dim(`(${sanitize(kindOf(plan))})`)], { width, gap: 3, indent: 2 }),
    ...(mapping.length > 0 ? [flow(mapping, { width, gap: 4, indent: 2 })] : []),
    ...notes.map((note) => `  ${sanitize(note)}`),
  ];
  return wrapWords(lines.join('\n'), width);
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

function kindOf({ format, encoding, delimiter = ',', hasHeader }: Plan): string {
  const separator = DELIMITER_NAMES[delimiter] ?? JSON.stringify(delimiter);
  return [
    FORMAT_NAMES[format],
    ...(format === 'xlsx' ? [] : [encoding.toUpperCase()]),
    ...(format === 'csv' ? [`${separator}-separated`] : []),
    ...(format !== 'urls' && !hasHeader ? ['no header'] : []),
  ].join(', ');
}

/** Which column fills which field. Of columns without a name, the first URL shows whether the right one was found. */
function mappingOf({ format, mapping, columns, hasHeader, firstUrl }: Plan): string[] {
  if (format === 'urls') return [];
  return (Object.entries(mapping) as [LinkField, number][]).map(([field, index]) => {
    const example = field === 'target_url' && firstUrl !== undefined ? ` (${cut(firstUrl)})` : '';
    return `${field} ← ${hasHeader ? cut(columns[index] ?? '') : `column ${index + 1}${example}`}`;
  });
}

function cut(text: string): string {
  return text.length > MAX_NAME ? `${text.slice(0, MAX_NAME)}…` : text;
}

function comparison(found: Existing): string[] {
  const { existing, changed, changedLines, gone } = found;
  const more = changed > changedLines.length ? ', …' : '';
  const lines = `${changedLines.length === 1 ? 'line' : 'lines'} ${changedLines.join(', ')}${more}`;
  return [
    ...(existing > 0 && found.new > 0
      ? [`${plural(found.new, 'new row')}, ${formatCount(existing)} already imported`]
      : []),
    ...(changed > 0
      ? [
          `${plural(changed, 'row')} changed since the link was created (${lines}). A link can't be changed, so it stays as it was.`,
        ]
      : []),
    ...(gone > 0 ? [`${plural(gone, 'link')} of rows that were removed: left as they are`] : []),
  ];
}

function planLines(forecast: Forecast): string[] {
  const {
    links,
    left,
    batchSize,
    requests,
    room,
    durationMs = 0,
    plan,
    requestsPerMinute,
  } = forecast;
  const limits = [
    `batches of ${formatCount(batchSize)}`,
    ...(requestsPerMinute === undefined
      ? []
      : [`${plural(requestsPerMinute, 'request')} a minute`]),
    ...(room === undefined
      ? []
      : [room === 0 ? 'no room for more links' : `room for ${plural(room, 'more link')}`]),
  ].join(', ');
  const work = [
    ...(links === 0
      ? []
      : [`${plural(links, 'link')} to create in about ${plural(requests, 'request')}`]),
    ...(durationMs < 1000 ? [] : [`about ${formatEstimate(durationMs)}`]),
    ...(left === 0 ? [] : [`${plural(left, 'row')} unsent`]),
  ].join(', ');
  return [
    capitalized(plan === undefined ? limits : `${plan} plan: ${limits}`),
    ...(requests > 1 || left > 0 ? [work] : []),
  ];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
