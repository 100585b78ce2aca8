import { registerHooks } from 'node:module';
import { PACKAGES, type Patch, Patches } from '../kernel/patches.ts';
import { installVirtualTime } from '../kernel/virtual-time.ts';

const SOURCES = `${PACKAGES}server/src/`;

/** Chunks of 40 links instead of 500, so that a job of the smallest size takes several turns. Applied to every simulated server. */
const SMALL_CHUNKS: Patch = {
  file: 'server/src/store/links.ts',
  find: 'JOB_CHUNK_LINKS = 500',
  replace: 'JOB_CHUNK_LINKS = 40',
};

/** The same of an export and of an import, which leaves the memory of the simulation as it is. */
const SMALL_PAGES: readonly Patch[] = [
  ['store/queries/aliases.ts', 'EXPORTED_TOGETHER = 1_000', 'EXPORTED_TOGETHER = 10'],
  ['admin/moving/import-links.ts', 'CHECKED_TOGETHER = 256', 'CHECKED_TOGETHER = 2'],
  ['admin/moving/import-links.ts', 'WRITTEN_TOGETHER = 2_000', 'WRITTEN_TOGETHER = 2'],
  ['admin/import.ts', "setFlagsFromString('--semi-space-growth-factor=1');", ''],
  ['admin/import.ts', "setFlagsFromString('--heap-growing-percent=10');", ''],
].map(([file, find = '', replace = '']) => ({ file: `server/src/${file}`, find, replace }));

/** Limits of real time, which a statement doesn't keep that waits for the simulation's next step. */
const PATIENT: readonly Patch[] = [
  ['{ read: 3_000, write: 5_000,', '{ read: 300_000, write: 300_000,'],
  ['CONNECT_TIMEOUT_MS = 2_000', 'CONNECT_TIMEOUT_MS = 300_000'],
  ['LOCK_TIMEOUT_MS = 2_000', 'LOCK_TIMEOUT_MS = 300_000'],
  ['IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000', 'IDLE_IN_TRANSACTION_TIMEOUT_MS = 300_000'],
].map(([find = '', replace = '']) => ({
  file: 'server/src/store/postgres/connection.ts',
  find,
  replace,
}));

/** The driver of PostgreSQL as the simulation has it. */
const DRIVER = new URL('./postgres-driver.ts', import.meta.url).href;

/**
 * The server's own source, as it is but for the size of chunks, or with a planted bug. Each variant is a set of modules of its
 * own, so that many can be used in one process.
 *
 * @param planted - patches of a planted bug
 * @param onPostgres - whether its database is PostgreSQL
 * @throws Error when a patch no longer fits the sources
 */
export async function loadServer(planted: readonly Patch[] = [], onPostgres = false) {
  const patches = new Patches([
    SMALL_CHUNKS,
    ...SMALL_PAGES,
    ...(onPostgres ? PATIENT : []),
    ...planted,
  ]);
  registerOnce();
  installVirtualTime();
  const variant = `${VARIANT}${variants.push(patches) - 1}`;
  const load = async <T>(path: string): Promise<T> => import(`${SOURCES}${path}${variant}`);
  type Source = typeof import('../../../server/src/service.ts') &
    typeof import('../../../server/src/store/sqlite/database.ts') &
    typeof import('../../../server/src/store/sqlite/migrate.ts') &
    typeof import('../../../server/src/store/sqlite/sqlite-store.ts') &
    typeof import('../../../server/src/store/sqlite/write-core.ts') &
    typeof import('../../../server/src/store/sqlite/writers.ts') &
    typeof import('../../../server/src/store/links.ts') &
    typeof import('../../../server/src/store/store-error.ts') &
    typeof import('../../../server/src/admin/program.ts') &
    typeof import('../../../server/src/workers.ts');
  const parts = await Promise.all(
    [
      'service.ts',
      'store/sqlite/database.ts',
      'store/sqlite/migrate.ts',
      'store/sqlite/sqlite-store.ts',
      'store/sqlite/write-core.ts',
      'store/sqlite/writers.ts',
      'store/links.ts',
      'store/store-error.ts',
      'admin/program.ts',
      'workers.ts',
      // The program loads them when they are needed, and virtual time would pass meanwhile.
      'admin/tables.ts',
      'admin/moving/read-source.ts',
      'admin/moving/import-links.ts',
    ].map((path) => load<Partial<Source>>(path)),
  );
  const postgres = onPostgres ? await loadPostgres(load) : undefined;
  patches.checkUsed();
  return { ...(Object.assign({}, ...parts) as Source), postgres };
}

async function loadPostgres(load: <T>(path: string) => Promise<T>) {
  type Source = typeof import('../../../server/src/store/postgres/index.ts') &
    typeof import('../../../server/src/store/postgres/database.ts') &
    typeof import('../../../server/src/store/postgres/postgres-store.ts') &
    typeof import('../../../server/src/store/postgres/statement.ts');
  const parts = ['index', 'database', 'postgres-store', 'statement'].map((name) =>
    load<Partial<Source>>(`store/postgres/${name}.ts`),
  );
  return Object.assign({}, ...(await Promise.all(parts))) as Source;
}

export type Server = Awaited<ReturnType<typeof loadServer>>;

/** The query of a module's URL that says which variant it belongs to. */
const VARIANT = '?simulated=';

const variants: Patches[] = [];

let isRegistered = false;

/** Lets imports of the server's files take their variant along, and changes the text of a file as the variant says. */
function registerOnce(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve: (specifier, context, nextResolve) => {
      const isDriver = specifier === 'pg' && context.parentURL?.includes(VARIANT);
      const resolved = nextResolve(isDriver ? DRIVER : specifier, context);
      const variant = context.parentURL?.startsWith(SOURCES)
        ? new URL(context.parentURL).search
        : '';
      if (!resolved.url.startsWith(SOURCES) || variant === '') return resolved;
      return { ...resolved, url: `${resolved.url}${variant}` };
    },
    load: (url, context, nextLoad) => {
      const [file = '', variant] = url.split(VARIANT);
      const source = variants[Number(variant)]?.sourceOf(file);
      if (source === undefined) return nextLoad(url, context);
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}
