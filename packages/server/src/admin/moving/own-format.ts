import { quoted } from '@shortlink/tables/basics';
import type { ExportedLink } from '../../store/operator-store.ts';

/** Columns of an export as CSV; its JSON Lines have the same names. */
export const COLUMNS = [
  ...(['code', 'short_url', 'target_url', 'title', 'tags', 'redirect_type', 'is_active'] as const),
  ...(['click_count', 'created_at', 'id', 'domain', 'aliases'] as const),
] satisfies (keyof ExportedLink)[];

/** The lines of an export. Links of one account don't name it, so that an import into another account gives the same export again. */
export function exportFormat(format: 'csv' | 'jsonl', hasAccounts: boolean) {
  const columns: (keyof ExportedLink)[] = [...COLUMNS];
  if (hasAccounts) columns.push('account_id');
  if (format === 'jsonl') {
    return { header: '', line: (link: ExportedLink) => `${JSON.stringify(link, columns)}\n` };
  }
  const cellOf = (link: ExportedLink, name: keyof ExportedLink) => {
    if (name === 'tags') return tagsCell(link.tags);
    return name === 'aliases' ? link.aliases.join(' ') : link[name];
  };
  const row = (values: readonly unknown[]) => `${values.map(csvCell).join()}\n`;
  return {
    header: row(columns),
    line: (link: ExportedLink) => row(columns.map((name) => cellOf(link, name))),
  };
}

/** A tag that can stand between commas as it is, for every program that reads tags so. */
const PLAIN_TAG = /^[^\s,;|"[][^,;|]*(?<!\s)$/;

/** Tags with commas between them, or as JSON where one of them could be read as two. */
function tagsCell(tags: readonly string[]): string {
  return tags.every((tag) => PLAIN_TAG.test(tag)) ? tags.join() : JSON.stringify(tags);
}

export function tagsOf(cell: string): string[] {
  if (cell.startsWith('[')) return JSON.parse(cell);
  return cell === '' ? [] : cell.split(',');
}

/** What a spreadsheet would run as a formula; with apostrophes before it, it looks like one that is guarded already. */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;

/** A cell with an apostrophe before what a spreadsheet would run as a formula. */
function csvCell(value: unknown): string {
  const text = String(value);
  const guarded = FORMULA.test(text) ? `'${text}` : text;
  return quoted(guarded, ',');
}

/** The text before {@link csvCell} guarded it. */
export function unguarded(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell.slice(1)) ? cell.slice(1) : cell;
}
