import type { Patch } from '../kernel/patches.ts';
import { inFile, loadFromSource } from '../kernel/sources.ts';
import { installVirtualTime } from '../kernel/virtual-time.ts';

/**
 * Chunks of 40 links instead of 500, so that a job of the smallest size takes several turns. The same of an export and of an import, which
 * leaves the memory of the simulation as it is.
 */
const SMALL: readonly Patch[] = [
  ...inFile('server/src/store/links.ts', ['JOB_CHUNK_LINKS = 500', 'JOB_CHUNK_LINKS = 40']),
  ...inFile('server/src/store/queries/links.ts', [
    'EXPORTED_TOGETHER = 1_000',
    'EXPORTED_TOGETHER = 10',
  ]),
  ...inFile(
    'server/src/admin/moving/import-links.ts',
    ['CHECKED_TOGETHER = 256', 'CHECKED_TOGETHER = 2'],
    ['WRITTEN_TOGETHER = 2_000', 'WRITTEN_TOGETHER = 2'],
  ),
  ...inFile(
    'server/src/admin/import.ts',
    ["setFlagsFromString('--semi-space-growth-factor=1');", ''],
    ["setFlagsFromString('--heap-growing-percent=10');", ''],
  ),
];

/** Limits of real time, which a statement doesn't keep that waits for the simulation's next step. */
const PATIENT = inFile(
  'server/src/store/postgres/connection.ts',
  ['{ read: 3_000, write: 5_000,', '{ read: 300_000, write: 300_000,'],
  ['CONNECT_TIMEOUT_MS = 2_000', 'CONNECT_TIMEOUT_MS = 300_000'],
  ['LOCK_TIMEOUT_MS = 2_000', 'LOCK_TIMEOUT_MS = 300_000'],
  ['IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000', 'IDLE_IN_TRANSACTION_TIMEOUT_MS = 300_000'],
);

/** The driver of PostgreSQL as the simulation has it. */
const DRIVER = new URL('./postgres-driver.ts', import.meta.url).href;

/**
 * Loads the server's own source into this thread, as it is but for the size of chunks, or with a planted bug.
 *
 * @param planted - patches of a planted bug
 * @param onPostgres - whether its database is PostgreSQL
 * @throws Error when a patch no longer fits the sources
 */
export async function loadServer(planted: readonly Patch[] = [], onPostgres = false) {
  const patches = loadFromSource(
    [...SMALL, ...(onPostgres ? PATIENT : []), ...planted],
    (specifier, parent) =>
      specifier === 'pg' && parent.startsWith('server/src/') ? DRIVER : undefined,
  );
  installVirtualTime();
  const server = {
    ...(await import('../../../server/src/service.ts')),
    ...(await import('../../../server/src/store/sqlite/database.ts')),
    ...(await import('../../../server/src/store/sqlite/migrate.ts')),
    ...(await import('../../../server/src/store/sqlite/sqlite-store.ts')),
    ...(await import('../../../server/src/store/sqlite/write-core.ts')),
    ...(await import('../../../server/src/store/sqlite/writers.ts')),
    ...(await import('../../../server/src/store/links.ts')),
    ...(await import('../../../server/src/store/store-error.ts')),
    ...(await import('../../../server/src/admin/program.ts')),
    ...(await import('../../../server/src/workers.ts')),
    postgres: onPostgres ? await loadPostgres() : undefined,
  };
  // The program loads them when they are needed, and virtual time would pass meanwhile.
  await import('../../../server/src/admin/tables.ts');
  await import('../../../server/src/admin/moving/read-source.ts');
  await import('../../../server/src/admin/moving/import-links.ts');
  patches.checkUsed();
  return server;
}

const loadPostgres = async () => ({
  ...(await import('../../../server/src/store/postgres/index.ts')),
  ...(await import('../../../server/src/store/postgres/database.ts')),
  ...(await import('../../../server/src/store/postgres/postgres-store.ts')),
  ...(await import('../../../server/src/store/postgres/statement.ts')),
});

export type Server = Awaited<ReturnType<typeof loadServer>>;
