import type { Existing, Forecast, ImportEvent, LinkField, Plan } from '../import/types.ts';
import { formatCount, formatDuration, plural } from './format.ts';

/** Rejects shown on the screen; all of them are in the rejects file. */
const SHOWN_REJECTS = 5;

/** What an event of an import says to people, if it is worth a line of its own. */
export function importNote(file: string, event: ImportEvent): string | undefined {
  switch (event.type) {
    case 'planned':
      return describePlan(file, event.plan);
    case 'validated': {
      if (event.rejected === 0) return `${file}: ${plural(event.rows, 'row')}, all valid`;
      const shown = event.firstRejects
        .slice(0, SHOWN_REJECTS)
        .map(({ line, reason }) => `  line ${line}: ${reason}`);
      const more = event.rejected - shown.length;
      return [
        `${file}: ${plural(event.rows, 'row')}, ${formatCount(event.rejected)} can't be sent:`,
        ...shown,
        ...(more > 0 ? [`  and ${formatCount(more)} more`] : []),
      ].join('\n');
    }
    case 'compared':
      return describeComparison(file, event);
    case 'forecast':
      return describeForecast(file, event.forecast);
    case 'resuming':
      return `${file}: settling ${plural(event.batches, 'batch', 'batches')} of an earlier run: ${plural(event.rows, 'link')}`;
    case 'batch-resized':
      return `${file}: a batch of ${formatCount(event.from)} was refused, continuing with smaller ones: ${event.reason}`;
    default:
      return undefined;
  }
}

function describeComparison(file: string, found: Existing & { rows: number }): string | undefined {
  const { rows, existing, changed, changedLines, gone } = found;
  const notes = [];
  if (existing > 0 && existing === rows) notes.push(`Already imported: all ${plural(rows, 'row')}`);
  else if (existing > 0) {
    notes.push(`${plural(found.new, 'new row')}, ${formatCount(existing)} already imported`);
  }
  if (changed > 0) {
    const more = changed > changedLines.length ? ', …' : '';
    const where = `${changedLines.length === 1 ? 'line' : 'lines'} ${changedLines.join(', ')}${more}`;
    notes.push(
      `${plural(changed, 'row')} with another target URL, title, tags or redirect type than the link has (${where}); a link can't be changed`,
    );
  }
  if (gone > 0) notes.push(`${plural(gone, 'link')} of rows that are gone, left alone`);
  return notes.length === 0 ? undefined : notes.map((note) => `${file}: ${note}`).join('\n');
}

function describeForecast(file: string, forecast: Forecast): string {
  const { links, left, batchSize, requests, room, durationMs } = forecast;
  const parts = [
    `${plural(links, 'link')} to create`,
    `batches of ${formatCount(batchSize)}`,
    `about ${plural(requests, 'request')}`,
    ...(room === undefined ? [] : [`room for ${plural(room, 'link')}`]),
    ...(durationMs === undefined || durationMs < 1000
      ? []
      : [`about ${formatDuration(durationMs)}`]),
    ...(left === 0 ? [] : [`${plural(left, 'row')} left for later`]),
  ];
  return `${file}: ${parts.join(', ')}`;
}

const FORMAT_NAMES = {
  csv: 'CSV',
  tsv: 'TSV',
  jsonl: 'JSON lines',
  urls: 'a list of URLs',
  xlsx: 'an Excel workbook',
} as const satisfies Record<Plan['format'], string>;

function describePlan(file: string, plan: Plan): string {
  const { format, encoding, delimiter, hasHeader, firstUrl, notes } = plan;
  const kind = [
    FORMAT_NAMES[format],
    ...(format === 'xlsx' ? [] : [encoding]),
    ...(format === 'csv' && delimiter !== undefined
      ? [`cells between ${JSON.stringify(delimiter)}`]
      : []),
    ...(format !== 'urls' && !hasHeader ? ['no header'] : []),
  ].join(', ');
  const mapping = Object.entries(plan.mapping) as [LinkField, number | undefined][];
  const lines = mapping.flatMap(([field, index]) =>
    index === undefined ? [] : [`  ${field} from ${columnName(plan, index)}`],
  );
  const first = firstUrl === undefined ? [] : [`  first URL ${firstUrl}`];
  return [`${file}: ${kind}`, ...lines, ...first, ...notes.map((note) => `  ${note}`)].join('\n');
}

function columnName(plan: Plan, index: number): string {
  const name = plan.columns[index];
  return plan.hasHeader && name !== undefined ? JSON.stringify(name) : `column ${index + 1}`;
}
