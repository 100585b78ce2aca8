import type { ImportDeps } from './deps.ts';
import { importRows } from './import-rows.ts';
import { type Lock, takeLock } from './journal/lock.ts';
import { createRowRules } from './map/row-rules.ts';
import { detectLayout } from './read/layout.ts';
import { openInput } from './read/open-input.ts';
import { RejectsFile } from './rejects.ts';
import { keepHeapSmall } from './small-heap.ts';
import { stoppedByRejects, stoppedByUser } from './stop.ts';
import { emptySummary } from './summary.ts';
import type { ImportSettings, ImportSummary } from './types.ts';
import { validateInput } from './validation-pass.ts';

export type { ImportDeps } from './deps.ts';

/**
 * Imports one file: looks at it, checks every row, then sends what was not sent before and writes the results.
 *
 * Whatever ends the import once sending may have begun is in the summary's `stopped`: the results file says what
 * became of each row, and the journal lets the same command go on.
 *
 * @throws CliError (exit code 2) when the input can't be imported, or the journal belongs to something else. Nothing
 * was sent then.
 */
export async function runImport(
  settings: ImportSettings,
  deps: ImportDeps,
): Promise<ImportSummary> {
  const releaseHeap = keepHeapSmall();
  const startedAt = deps.now();
  const requestsBefore = deps.requestCount();
  // A dry run leaves no trace, so it needs no journal and no lock.
  let lock: Lock | undefined;
  try {
    lock = settings.dryRun ? undefined : await takeLock(settings.journal);
    const summary = await importInput(settings, deps);
    return {
      ...summary,
      requests: deps.requestCount() - requestsBefore,
      elapsedMs: deps.now() - startedAt,
    };
  } finally {
    releaseHeap();
    await lock?.release();
  }
}

async function importInput(settings: ImportSettings, deps: ImportDeps): Promise<ImportSummary> {
  const input = await openInput(settings.file, deps.stdin, deps.signal);
  const summary = emptySummary(settings);
  try {
    const layout = await detectLayout(input, settings);
    deps.onEvent({ type: 'planned', plan: layout.plan });
    const rules = createRowRules(layout, settings.defaults);
    const rejects = new RejectsFile(settings.rejects, layout.plan.columns);
    const found = await validateInput(input, layout, rules, rejects, deps).catch(
      async (error: unknown) => {
        await rejects.discard();
        throw error;
      },
    );
    if (found === undefined) {
      await rejects.discard();
      return {
        ...summary,
        stopped: stoppedByUser({ name: input.name, created: 0, unsent: 0, rows: 0 }),
      };
    }
    const { rows, links } = found;
    summary.rows = rows;
    summary.rejected = rows - links;
    summary.unsent = links;
    summary.rejectsFile = await rejects.finish();
    if (rows === 0) deps.onEvent({ type: 'warning', message: `${input.name} has no rows.` });
    if (settings.dryRun) return summary;
    const allowed = settings.maxRejects;
    if (allowed !== 'all' && summary.rejected > allowed) {
      const progress = { name: input.name, created: 0, unsent: links, rows };
      summary.stopped = stoppedByRejects(progress, summary.rejected, allowed, summary.rejectsFile);
      return summary;
    }
    return await importRows({ settings, deps, input, layout, rules, found }, summary);
  } finally {
    await input.dispose();
  }
}
