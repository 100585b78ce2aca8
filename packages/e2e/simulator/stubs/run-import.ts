/** Stands in for the import where the command line starts it: the simulation sees what it is started with, and what comes of it. */
import type { ImportDeps, ImportSettings, ImportSummary } from '../../../cli/src/import/types.ts';
import { theWorld } from '../world/world.ts';

export function runImport(settings: ImportSettings, deps: ImportDeps): Promise<ImportSummary> {
  const { runImport: run } = theWorld().process;
  if (run === undefined) throw new Error('this program was not started with a command line');
  return run(settings, deps);
}
