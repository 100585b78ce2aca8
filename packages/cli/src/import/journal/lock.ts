import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { kill, pid } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { inputError } from '../input-error.ts';
import { systemReason } from '../system-reason.ts';

/** Tries before a run refuses: two that begin in the same instant see each other, and both step back. */
const TRIES = 4;

/** Longest pause between two tries, in milliseconds. */
const MAX_PAUSE_MS = 120;

/** Who holds a lock. */
interface Owner {
  pid: number;
  host: string;
  /** When that process began, as its system counts; empty where it doesn't say. Tells a reused process id apart. */
  started: string;
}

/** A held lock. */
export interface Lock {
  release(): Promise<void>;
}

/**
 * Takes the lock of a journal. Each run puts a file of its own beside it, then looks for those of others: whoever comes
 * later sees the earlier one, so two never hold it, and a file left by a process that is gone can be removed by anyone,
 * since nobody else will ever use its name.
 *
 * @throws CliError (exit code 2) when another run holds it
 */
export async function takeLock(journal: string): Promise<Lock> {
  const path = `${journal}.lock.${randomUUID()}`;
  const mine: Owner = { pid, host: hostname(), started: await startOf(pid) };
  const release = () => rm(path, { force: true });
  for (let tries = 1; ; tries += 1) {
    await writeFile(path, JSON.stringify(mine)).catch((cause: unknown) => {
      const reason = systemReason(cause);
      throw inputError(
        `${journal} can't be written: ${reason}`,
        'Name another place: --journal FILE',
      );
    });
    const other = await findOther(journal, path);
    if (other === undefined) return { release };
    await release();
    if (tries === TRIES) throw inUse(journal, other);
    await delay(Math.random() * MAX_PAUSE_MS);
  }
}

interface OtherLock {
  path: string;
  /** Undefined when its file can't be understood: it is being written, or is damaged. */
  owner: Owner | undefined;
}

/** A lock of somebody else who is alive; those of the dead are removed. */
async function findOther(journal: string, mine: string): Promise<OtherLock | undefined> {
  const directory = dirname(journal);
  const prefix = `${basename(journal)}.lock.`;
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    if (!name.startsWith(prefix) || name === basename(mine)) continue;
    const content = await readIfThere(path);
    if (content === undefined) continue;
    const owner = parseOwner(content);
    if (owner === undefined || (await isAlive(owner))) return { path, owner };
    await rm(path, { force: true });
  }
  return undefined;
}

function inUse(journal: string, { path, owner }: OtherLock) {
  const who = owner === undefined ? 'another run' : `process ${owner.pid} on ${owner.host}`;
  return inputError(
    `${journal} is in use by ${who}`,
    `Wait for it to end. If it is certainly over, delete ${path}`,
  );
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function parseOwner(content: string): Owner | undefined {
  try {
    const value: unknown = JSON.parse(content);
    if (typeof value !== 'object' || value === null) return undefined;
    const { pid: owner, host, started } = { pid: 0, host: '', started: '', ...value };
    return Number.isInteger(owner) && owner > 0 ? { pid: owner, host, started } : undefined;
  } catch {
    return undefined;
  }
}

/** A process of another machine can't be asked, and counts as alive. */
async function isAlive(owner: Owner): Promise<boolean> {
  if (owner.host !== hostname()) return true;
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
