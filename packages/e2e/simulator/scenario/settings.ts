import type { ImportSettings } from '../../../cli/src/import/types.ts';
import type { Paths } from './files.ts';
import type { RunPlan, UserTraits } from './scenario.ts';

/** What the user decides in a run. */
export interface Decisions {
  onUnknown: ImportSettings['onUnknown'];
  onSimilar: 'stop' | 'reuse' | 'create';
  /** The file for `--known`. */
  known: string | undefined;
  /** Whether a file that was refused was moved away before the run. */
  hasMoved?: boolean;
}

/** The command line of a run, as the import gets it. */
export function settingsOf(
  plan: RunPlan,
  user: UserTraits,
  { onUnknown, onSimilar, known }: Decisions,
  paths: Paths,
): ImportSettings {
  const similar = { onSimilar };
  const isTable = user.format !== 'jsonl' || user.hasTable;
  return {
    ...similar,
    file: user.fromStdin ? '-' : paths.input,
    map: {},
    inputFormat: 'auto',
    output: paths.results,
    outputFormat: isTable ? 'csv' : 'jsonl',
    rejects: paths.rejects,
    // Of an empty file that is mounted under the usual name, nobody could tell whether it has lost its content.
    usualNames: { output: user.mounted === undefined && isTable, rejects: true },
    journal: user.fromStdin ? { folder: paths.folder } : paths.journal,
    restart: plan.restart,
    defaults: {
      tags: user.defaults.tags,
      domain_id: user.domain,
      redirect_type: user.defaults.redirect_type,
    },
    addTags: user.addTags,
    batchSize: user.batchSize,
    concurrency: user.concurrency,
    requestsPerMinute: user.requestsPerMinute,
    limit: plan.limit,
    dryRun: plan.dryRun,
    maxRejects: user.maxRejects,
    onUnknown,
    idempotency: user.idempotency,
    baseUrl: 'https://api.example',
    inPlace: user.inPlace,
    known: known === undefined ? [] : [known],
  };
}
