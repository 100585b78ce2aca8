import { hash, randomBytes } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { kill, pid } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { inputError, systemReason } from '../errors.ts';

/** Tries before a run refuses: two that begin in the same instant see each other, and both step back. */
const TRIES = 4;

/** Longest pause between two tries, in milliseconds. */
const MAX_PAUSE_MS = 120;

/** Who holds a lock. */
interface Owner {
  pid: number;
  /** When that process began, as its system counts; empty where it doesn't say. Tells a reused process id apart. */
  started: string;
  /** Stands for its machine's name. */
  host: string;
}

/** A held lock. */
export interface Lock {
  release(): Promise<void>;
}

/**
 * Takes the lock of a journal. Each run puts a file of its own beside it, then looks for those of others: whoever comes
 * later sees the earlier one, so two never hold it, and a file left by a process that is gone can be removed by anyone,
 * since nobody else will ever use its name. The name says all: a process that is killed has either made the file or not, while
 * its content could be half written.
 *
 * @throws CliError (exit code 2) when another run holds it
 */
export async function takeLock(journal: string): Promise<Lock> {
  const mine: Owner = { pid, started: await startOf(pid), host: hostId() };
  const path = lockPrefix(journal) + lockName(mine);
  const release = () => rm(path, { force: true });
  for (let tries = 1; ; tries += 1) {
    await writeFile(path, hostname()).catch((cause: unknown) => {
      const reason = systemReason(cause);
      throw inputError(
        `${journal} can't be written: ${reason}`,
        'Name another place: --journal FILE',
      );
    });
    const other = await findOther(journal, path);
    if (other === undefined) return { release };
    await release();
    if (tries === TRIES) throw await inUse(journal, other);
    await delay(Math.random() * MAX_PAUSE_MS);
  }
}

interface OtherLock {
  path: string;
  /** Undefined when its name is none of ours. */
  owner: Owner | undefined;
}

/** A lock of somebody else who is alive; those of the dead are removed. */
async function findOther(journal: string, mine: string): Promise<OtherLock | undefined> {
  const directory = dirname(journal);
  const prefix = basename(lockPrefix(journal));
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    if (!name.startsWith(prefix) || name === basename(mine)) continue;
    const owner = parseName(name.slice(prefix.length));
    if (owner === undefined || (await isAlive(owner))) return { path, owner };
    await rm(path, { force: true });
  }
  return undefined;
}

async function inUse(journal: string, { path, owner }: OtherLock) {
  const host = (await readFile(path, 'utf8').catch(() => '')) || 'another machine';
  const who = owner === undefined ? 'another run' : `process ${owner.pid} on ${host}`;
  return inputError(
    `${journal} is in use by ${who}`,
    `Wait for it to end. If it is certainly over, delete ${path}`,
  );
}

function lockPrefix(journal: string): string {
  return `${journal}.lock.`;
}

function lockName({ pid: id, started, host }: Owner): string {
  return [id, started, host, randomBytes(4).toString('hex')].join('.');
}

function parseName(name: string): Owner | undefined {
  const [, id = '', started = '', host = ''] =
    /^([1-9]\d*)\.(\d*)\.([0-9a-f]{8})\.[0-9a-f]{8}$/.exec(name) ?? [];
  return id === '' ? undefined : { pid: Number(id), started, host };
}

/** Short and of plain characters, whatever the machine is called. */
function hostId(): string {
  return hash('sha256', hostname()).slice(0, 8);
}

/** A process of another machine can't be asked, and counts as alive. */
async function isAlive(owner: Owner): Promise<boolean> {
  if (owner.host !== hostId()) return true;
  try {
    kill(owner.pid, 0);
  } catch (error) {
    // EPERM: it is there, and belongs to somebody else.
    if (!hasCode(error, 'EPERM')) return false;
  }
  return owner.started === (await startOf(owner.pid));
}

/** When a process began, in clock ticks since the boot: field 22 of Linux's `/proc/<pid>/stat` (proc(5)). */
async function startOf(id: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${id}/stat`, 'utf8');
    // The second field is the command's name in parentheses, and may itself hold spaces and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
