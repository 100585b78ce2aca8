import { hash } from 'node:crypto';
import * as fs from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from '../logger.ts';
import { type CachedLink, OUTAGE_MAX_AGE_MS } from './redirect-cache.ts';

/** Size of a file, at most, in bytes. A larger one is not ours, or its links would take too long to read at the start. */
const MAX_BYTES = 64 * 1024 * 1024;

/** How a file of ours begins: its checksum, and its content. */
const OURS = /^[0-9a-f]{64}\n\{"database":/;

export interface CacheFileOptions {
  path: string;
  /** The database that the links are of: those of another one are ignored. */
  database: string;
  logger?: Pick<Logger, 'warn'> | undefined;
  now?: (() => number) | undefined;
}

/** Keeps the links in memory over a restart. Whatever is wrong with the file, the server starts and stops as without it. */
export function cacheFile({ path, database, logger, now = Date.now }: CacheFileOptions) {
  return {
    /** The links of earlier runs that were up to date within the time for which links are served without the database. */
    read: (): CachedLink[] => {
      try {
        const size = statsOf(path)?.size;
        if (size === undefined) return [];
        if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
        const [sum, json = ''] = fs.readFileSync(path, 'utf8').split('\n', 2);
        if (sum !== hash('sha256', json)) throw new Error('its checksum is wrong');
        const kept: { database: string; links: Required<CachedLink>[] } = JSON.parse(json);
        if (kept.database !== database) return [];
        return kept.links.filter(([, , at]) => Math.abs(now() - at) < OUTAGE_MAX_AGE_MS);
      } catch (error) {
        logger?.warn({ err: error, path }, 'the file of links in memory is ignored');
        return [];
      }
    },
    /** Only the owner of the process can read the file: it tells which links people follow. */
    write: (links: CachedLink[]): void => {
      const writtenAt = now();
      const dated = links.map(([code, redirect, at = writtenAt]) => [code, redirect, at]);
      const json = JSON.stringify({ database, links: dated });
      const part = `${path}.part`;
      try {
        // A setting may name the wrong file, such as that of the database.
        if (!isOurs(path)) throw new Error('the file there is something else');
        try {
          fs.writeFileSync(part, `${hash('sha256', json)}\n${json}`, { mode: 0o600 });
          fs.renameSync(part, path);
        } finally {
          fs.rmSync(part, { force: true });
        }
      } catch (error) {
        logger?.warn({ err: error, path }, 'the links in memory are not kept');
      }
    },
  };
}

/** @throws where a device, a pipe or a folder is, which must not be replaced, and where the folder of a new file can't be written */
function statsOf(path: string): fs.Stats | undefined {
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) fs.accessSync(dirname(path), fs.constants.W_OK);
  else if (!stats.isFile()) throw new Error('what is there is no file');
  return stats;
}

/** Whether a file may be replaced: there is none yet, it is empty, or it is one of ours, perhaps damaged. */
function isOurs(path: string): boolean {
  if (statsOf(path) === undefined) return true;
  const beginning = Buffer.alloc(100);
  const file = fs.openSync(path, 'r');
  try {
    const length = fs.readSync(file, beginning);
    return length === 0 || OURS.test(beginning.toString('latin1', 0, length));
  } finally {
    fs.closeSync(file);
  }
}
