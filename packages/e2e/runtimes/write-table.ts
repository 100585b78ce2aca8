/**
 * Runs the suite in every runtime and writes the table of `packages/docs/sdk/runtimes.md`:
 * `pnpm build && node packages/e2e/runtimes/write-table.ts`.
 */
import { RUNTIMES } from './drivers/runtimes.ts';
import { runInRuntime } from './run-runtime.ts';
import { type Row, toRow, writeRows } from './table.ts';

const rows: Row[] = [];
for (const runtime of RUNTIMES) {
  const row = toRow(await runInRuntime(runtime));
  console.log(row.join(', '));
  rows.push(row);
}
await writeRows(rows);
