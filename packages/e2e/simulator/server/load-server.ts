import { registerHooks } from 'node:module';
import { mutants } from './mutants.ts';

/** A change of one source file of the server, as text. */
export interface Patch {
  /** Path below `packages/server/src`. */
  file: string;
  /** What is replaced; it must stand in the file exactly once. */
  from: string;
  to: string;
}

const SOURCES = new URL('../../../server/src/', import.meta.url).href;

/** Chunks of 40 links instead of 500, so that a job of the smallest size takes several turns. Applied to every simulated server. */
const SMALL_CHUNKS: Patch = {
  file: 'store/links.ts',
  from: 'JOB_CHUNK_LINKS = 500',
  to: 'JOB_CHUNK_LINKS = 40',
};

/**
 * The server's own source, as it is but for the size of chunks, or with a planted bug. Each variant is a set of modules of its
 * own, so that many can be used in one process.
 *
 * @param mutant - name of a planted bug
 */
export async function loadServer(mutant?: string) {
  registerOnce();
  const variant = `?simulated=${mutant ?? ''}`;
  const load = async <T>(path: string): Promise<T> => import(`${SOURCES}${path}${variant}`);
  type Source = typeof import('../../../server/src/service.ts') &
    typeof import('../../../server/src/store/sqlite/database.ts') &
    typeof import('../../../server/src/store/sqlite/migrate.ts') &
    typeof import('../../../server/src/store/sqlite/sqlite-store.ts') &
    typeof import('../../../server/src/store/sqlite/write-core.ts') &
    typeof import('../../../server/src/store/sqlite/writers.ts') &
    typeof import('../../../server/src/store/links.ts') &
    typeof import('../../../server/src/store/store-error.ts') &
    typeof import('../../../server/src/admin/accounts.ts') &
    typeof import('../../../server/src/admin/keys.ts');
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
      'admin/accounts.ts',
      'admin/keys.ts',
    ].map((path) => load<Partial<Source>>(path)),
  );
  return Object.assign({}, ...parts) as Source;
}

export type Server = Awaited<ReturnType<typeof loadServer>>;

let isRegistered = false;

/** Lets imports of the server's files take their variant along, and changes the text of a file as the variant says. */
function registerOnce(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve: (specifier, context, nextResolve) => {
      const resolved = nextResolve(specifier, context);
      const variant = context.parentURL?.startsWith(SOURCES)
        ? new URL(context.parentURL).search
        : '';
      if (!resolved.url.startsWith(SOURCES) || variant === '') return resolved;
      return { ...resolved, url: `${resolved.url}${variant}` };
    },
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      if (!url.startsWith(SOURCES) || !url.includes('?simulated=')) return loaded;
      const [file = '', name = ''] = url.slice(SOURCES.length).split('?simulated=');
      const patches = [SMALL_CHUNKS, ...(mutants[name]?.patches ?? [])];
      const source = patches
        .filter((patch) => patch.file === file)
        .reduce(apply, Buffer.from(loaded.source as Uint8Array).toString());
      return { ...loaded, source };
    },
  });
}

/** @throws Error when the text to replace is not there: the planted bug no longer fits the code, and must be brought up to date */
function apply(source: string, { file, from, to }: Patch): string {
  if (source.split(from).length !== 2) {
    throw new Error(`${JSON.stringify(from)} is not exactly once in ${file}`);
  }
  return source.replace(from, () => to);
}
