import type { ImportEvent, LinkField, Plan } from '../import/types.ts';
import { formatCount, plural } from './format.ts';

/** Rejects shown on the screen; all of them are in the rejects file. */
const SHOWN_REJECTS = 5;

/** What an event of an import says to people, if it is worth a line of its own. */
export function importNote(file: string, event: ImportEvent): string | undefined {
  switch (event.type) {
    case 'planned':
      return describePlan(file, event.plan);
    case 'validated': {
      if (event.rejected === 0) {
        return `${file}: ${plural(event.rows, 'row')}, all valid`;
      }
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
    case 'resuming':
      return `${file}: going on from the journal: ${plural(event.doneRows, 'row')} done before${
        event.acceptedBatches > 0
          ? `, ${plural(event.acceptedBatches, 'accepted batch', 'accepted batches')} to poll`
          : ''
      }`;
    case 'batch-resized':
      return `${file}: a batch of ${formatCount(event.from)} was refused, going on with smaller ones: ${event.reason}`;
    default:
      return undefined;
  }
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
