import type { Patch } from './kernel/patches.ts';
import { inFile, loadFromSource } from './kernel/sources.ts';
import type { Programs } from './program.ts';
import type { OwnServer } from './services/own.ts';
import { replaceGlobals } from './stubs/globals.ts';
import { standIn } from './stubs/stand-ins.ts';

/**
 * So that the few rows of a scenario become jobs of several chunks, the server refuses some of them, and no virtual time passes while a
 * thread checks a large body.
 */
const SERVER_PATCHES: readonly Patch[] = [
  ...inFile('server/src/start-thread.ts', ['HAS_THREADS: boolean = true', 'HAS_THREADS = false']),
  ...inFile('server/src/http/check-body.ts', [
    'links.length <= wire.MAX_SYNC_BATCH_LINKS',
    'links.length <= wire.MAX_SYNC_BATCH_LINKS / 25',
  ]),
  ...inFile('server/src/store/links.ts', ['JOB_CHUNK_LINKS = 500', 'JOB_CHUNK_LINKS = 3']),
  ...inFile(
    'server/src/domain/validate-link.ts',
    [
      '  const details: ErrorDetail[] = [];\n  const problem',
      "  const details: ErrorDetail[] = [];\n  if (title === 'refused' && !titles.isLenient) details.push(fieldDetail('title', 'is not allowed'));\n  const problem",
    ],
    [
      'export function namesDomain(',
      'export const titles = { isLenient: false };\nexport function namesDomain(',
    ],
  ),
];

/**
 * Loads the programs under test into this thread, with planted bugs if there are any, and gives the thread virtual time.
 *
 * @throws Error when a patch no longer fits the sources
 */
export async function loadPrograms(patches: readonly Patch[] = []): Promise<Programs> {
  const used = loadFromSource([...SERVER_PATCHES, ...patches], standIn);
  const { runImport } = await import('../../cli/src/import/run-import.ts');
  const { exitCodeOf } = await import('../../cli/src/cli-error.ts');
  const { runCommand } = await import('../../cli/src/run-command.ts');
  // What commands load when they need it: here it must be there at once.
  await import('../../cli/src/commands/import/import-files.ts');
  await import('../../cli/src/commands/verify/verify-files.ts');
  await import('../../cli/src/agents.ts');
  await import('../../cli/src/config/config-schema.ts');
  await import('../../cli/src/proxy-fetch.ts');
  const { Shortlink } = await import('../../sdk/src/index.ts');
  const rules: object = await import('../../server/src/domain/validate-link.ts');
  const server: OwnServer = {
    ...(rules as Pick<OwnServer, 'titles'>),
    ...(await import('../../server/src/app.ts')),
    ...(await import('../../server/src/api-key.ts')),
    ...(await import('../../server/src/domain/hostnames.ts')),
    ...(await import('../../server/src/domain/job-pace.ts')),
    ...(await import('../../server/src/metrics/metrics.ts')),
    ...(await import('../../server/src/jobs/runner.ts')),
    ...(await import('../../server/src/store/links.ts')),
    ...(await import('../../server/src/store/sqlite/database.ts')),
    ...(await import('../../server/src/store/sqlite/migrate.ts')),
    ...(await import('../../server/src/store/sqlite/sqlite-store.ts')),
    ...(await import('../../server/src/store/sqlite/write-core.ts')),
  };
  used.checkUsed();
  replaceGlobals();
  return {
    runImport,
    runCommand,
    createClient: (options) => new Shortlink(options),
    exitCodeOf,
    server,
  };
}
