import type { ImportSettings, ImportSummary } from '../types.ts';

/** The summary of an import that has done nothing yet. */
export function emptySummary(settings: Pick<ImportSettings, 'file' | 'dryRun'>): ImportSummary {
  return {
    file: settings.file,
    dryRun: settings.dryRun,
    rows: 0,
    created: 0,
    existing: 0,
    changed: 0,
    gone: 0,
    rejected: 0,
    failed: 0,
    unknown: 0,
    unsent: 0,
    forecast: undefined,
    batches: 0,
    requests: 0,
    answered: 0,
    elapsedMs: 0,
    stopped: undefined,
    output: undefined,
    rejectsFile: undefined,
    journal: undefined,
  };
}
