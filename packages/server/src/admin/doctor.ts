import { HEADERS } from '@shortlink/sdk/wire';
import { sharedHostWarning } from '../domain/hostnames.ts';
import { databaseName } from '../setting-values.ts';
import type { DatabaseFacts } from '../store/operator-store.ts';
import type { AdminCommand, DatabaseWork } from './command.ts';

const MAX_CLOCK_DIFFERENCE_MS = 1_000;

/** A service has two instances, and twice as many during a deployment. */
const MIN_INSTANCES = 4;

/** Space that should be left once a backup is on the same disk. */
const MIN_FREE_GB = 1;

const PROBE_TIMEOUT_MS = 5_000;

export function registerDoctor(program: AdminCommand): void {
  const what =
    'Look at the settings and the database, change nothing, and say what should be done. Exit code 1 if anything should.';
  program.add('doctor', what, 'doctor').onDatabase(async (work) => {
    const findings = [...(await checkDatabase(work)), await checkPublicUrl(work)];
    const json = findings.map(([check, found, todo = 'nothing']) => ({ check, found, todo }));
    const open = findings.filter(([, , todo]) => todo !== undefined).length;
    const failure = `${open} of ${json.length} checks ask for something`;
    // A table would be cut where a terminal is narrow, and what should be done is its longest text.
    const shown = Object.fromEntries(
      findings.map(([check, found, todo]) => [check, found + (todo ? `. To do: ${todo}` : '')]),
    );
    return { json, shown, ...(open > 0 && { failure }) };
  });
}

/** What was looked at, what was found, and what to do unless that is fine. */
type Finding = [check: string, found: string, todo?: string | undefined];

async function checkDatabase(work: DatabaseWork): Promise<Finding[]> {
  const name = databaseName(work.settings.database);
  try {
    return [['database', name], ...judge(await work.database.inspect(), work)];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [['database', name, `${reason} Check SHORTLINK_DATABASE_URL.`]];
  }
}

/** The time limits hold wherever a database could be looked at: without them, its connection is refused. */
function* judge(facts: DatabaseFacts, { settings, publicUrl }: DatabaseWork): Generator<Finding> {
  const { version, newest, isPooled, clockAheadMs, connections, disk, domains = [] } = facts;
  const schema = `version ${version}, this program has ${newest}`;
  const migrate = 'run shortlink-server migrate, or start the server';
  yield ['schema', schema, version === newest ? undefined : migrate];
  if (connections !== undefined) {
    // Each worker has two connections at least.
    const each = Math.max(settings.databaseConnections, 2 * settings.workers);
    const instances = Math.floor(connections.most / each);
    const used = `${connections.used} of ${connections.most} in use; an instance has ${each} at most, so that ${instances} fit`;
    const raise = `a deployment doubles the instances: lower SHORTLINK_DATABASE_CONNECTIONS, or raise max_connections, or the limit of this user or database`;
    yield ['pooler', `${isPooled ? 'in between' : 'none'}; time limits hold`];
    const own = 'let this user own the database and its tables, to create links and count clicks';
    if (connections.writable === false) yield ['rights', 'this user may not write', own];
    yield ['connections', used, instances >= MIN_INSTANCES ? undefined : raise];
  }
  if (clockAheadMs !== undefined) {
    const difference = Math.abs(clockAheadMs);
    const found = `${difference} ms ${clockAheadMs > 0 ? 'behind' : 'ahead of'} the database`;
    const todo = 'let NTP set the clocks: limits begin at other times on each instance';
    yield ['clock', found, difference <= MAX_CLOCK_DIFFERENCE_MS ? undefined : todo];
  }
  if (disk !== undefined) {
    const [free, used] = [disk.free / 1e9, disk.used / 1e9];
    const found = `${free.toFixed(1)} GB free, the database has ${used.toFixed(1)} GB`;
    const todo = 'make space: a backup or a migration needs as much as the database has';
    yield ['disk', found, free >= used + MIN_FREE_GB ? undefined : todo];
  }
  const warning = sharedHostWarning(publicUrl, domains);
  if (warning !== undefined) {
    const todo = 'set SHORTLINK_PUBLIC_URL to a host of its own before new links are made';
    yield ['public host', warning, todo];
  }
}

async function checkPublicUrl({ settings, publicUrl: url }: DatabaseWork): Promise<Finding> {
  const set = 'set SHORTLINK_PUBLIC_URL: nobody else can follow such short URLs';
  if (settings.publicUrl === undefined) return ['public URL', url, set];
  // Proxies let this request through, unlike the health check, and our server refuses it, since it has no key.
  const probe = new Request(`${url}/api/v1/usage`, { redirect: 'manual' });
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  const response = await fetch(probe, { signal }).catch(() => undefined);
  const isOurs = response?.status === 401 && response.headers.has(HEADERS.requestId);
  const found = isOurs ? 'leads to a server' : `${response?.status ?? 'no response'}`;
  const todo = 'check DNS, certificate and proxy, and that the server runs';
  return ['public URL', `${url}: ${found}`, isOurs ? undefined : todo];
}
