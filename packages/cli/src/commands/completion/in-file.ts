import { openInput } from '@shortlink/tables';
import { detectLayout } from '../../import/layout.ts';

// A module of its own, so that only who completes what is in a file loads the reader of tables.
export { sheetNames } from '@shortlink/tables';

/** The columns of a file, read with the options that were typed so far. */
export async function columnsIn(
  path: string,
  options: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  const input = await openInput(path, (async function* () {})());
  try {
    // No column need be recognized: which one it is, is being typed.
    const map = { target_url: '1', title: '', tags: '', domain_id: '', redirect_type: '' };
    const settings = { inputFormat: 'auto' as const, ...options, map };
    return (await detectLayout(input, settings)).plan.columns;
  } finally {
    await input.dispose();
  }
}
