import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { kill, pid } from 'node:process';
import { inputError } from '../input-error.ts';

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
 * Takes the lock of a journal: a file beside it that names the process. The lock of a process that is gone (killed, or
 * the machine was restarted) is taken over.
 *
 * @throws CliError (exit code 2) when another run holds it
 */
export async function takeLock(journal: string): Promise<Lock> {
  const path = `${journal}.lock`;
  const mine = JSON.stringify({
    pid,
    host: hostname(),
    started: await startOf(pid),
  } satisfies Owner);
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, mine).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw inputError(`${path} can't be written: ${reason}`, 'Name another place: --journal FILE');
  });
  try {
    // A link is made whole or not at all, so nobody ever reads half a lock.
    while (!(await linked(draft, path))) await removeIfStale(path, journal);
  } finally {
    await rm(draft, { force: true });
  }
  return { release: () => rm(path, { force: true }) };
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Makes way for a new lock where the owner is gone, else refuses. */
async function removeIfStale(path: string, journal: string): Promise<void> {
  const content = await readIfThere(path);
  if (content === undefined) return;
  const owner = parseOwner(content);
  if (owner === undefined || (await isAlive(owner))) {
    const who = owner === undefined ? 'another run' : `process ${owner.pid} on ${owner.host}`;
    throw inputError(
      `${journal} is in use by ${who}`,
      `Wait for it to end. If it is certainly over, delete ${path}`,
    );
  }
  // Two runs may find the same stale lock: only one of them moves it away. If the other had put its own in place
  // already, what was moved is not what was judged, and goes back.
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  if ((await readIfThere(aside)) !== content) await linked(aside, path);
  await rm(aside, { force: true });
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
