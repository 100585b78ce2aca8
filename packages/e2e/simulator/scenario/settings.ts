import type { ImportSettings } from '../../../cli/src/import/types.ts';
import { FOLDER, inputPath, resultsPath } from './files.ts';
import type { RunPlan, UserTraits } from './scenario.ts';

/** The command line of a run, as the import gets it. */
export function settingsOf(
  plan: RunPlan,
  user: UserTraits,
  onUnknown: ImportSettings['onUnknown'],
  known: string | undefined,
): ImportSettings {
  const path = inputPath(user);
  return {
    file: user.fromStdin ? '-' : path,
    map: {},
    inputFormat: 'auto',
    output: resultsPath(user),
    outputFormat: user.format === 'jsonl' ? 'jsonl' : 'csv',
    rejects: `${path}.rejects.csv`,
    usualNames: { output: true, rejects: true },
    journal: user.fromStdin ? { folder: FOLDER } : `${path}.shortlink-journal`,
    restart: plan.restart,
    defaults: user.domain === undefined ? {} : { domain_id: user.domain },
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
    known,
  };
}
