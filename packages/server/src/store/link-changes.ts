import type { LinkChanges } from './store.ts';

/** A row of `link_changes`, which triggers write. Without a code it stands for all links. */
export interface LinkChangeRow {
  number: number;
  code: string | null;
}

/**
 * Reads what changed from the rows whose number is `since` or greater, in their order. The first row is the change that the reader
 * knows already. Without it there is a gap: old rows were deleted, or the database is another one, such as a restored backup.
 */
export function toLinkChanges(since: number, rows: readonly LinkChangeRow[]): LinkChanges {
  const latest = rows.at(-1)?.number ?? 0;
  if (rows[0]?.number !== since) return { latest, changed: 'all' };
  const codes: string[] = [];
  for (const { code } of rows.slice(1)) {
    if (code === null) return { latest, changed: 'all' };
    codes.push(code);
  }
  return { latest, changed: codes };
}
