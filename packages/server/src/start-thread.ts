import { realpathSync } from 'node:fs';
import process from 'node:process';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** A page has none: there, all work is done where it arises. */
export const HAS_THREADS: boolean = true;

/** The file with this name beside the module whose `import.meta.url` is `from`: TypeScript, or JavaScript in a build. */
export const fileBeside = (name: string, from: string) =>
  new URL(`./${name}.${from.endsWith('.ts') ? 'ts' : 'js'}`, from);

/** Starts a thread from the {@link fileBeside}. */
export function startThread(name: string, from: string, options: WorkerOptions): Worker {
  keepWorkingDirectory();
  return new Worker(fileBeside(name, from), { name: `shortlink-${name}`, ...options });
}

/** Node starts no thread while the process's working directory is deleted. */
function keepWorkingDirectory(): void {
  try {
    realpathSync.native('.');
  } catch {
    process.chdir('/');
  }
}
