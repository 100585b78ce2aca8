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
        const text = textOf(path);
        if (text === undefined) return [];
        const [sum, json = ''] = text.split('\n', 2);
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
        textOf(path);
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

/**
 * The text of a file of ours, perhaps damaged; `undefined` where there is none yet, and can be one.
 * @throws where something else is, which must not be replaced: a setting may name the wrong file, such as that of the database
 */
function textOf(path: string): string | undefined {
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) {
    fs.accessSync(dirname(path), fs.constants.W_OK);
    return undefined;
  }
  if (!stats.isFile()) throw new Error('what is there is no file');
  if (stats.size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
  const text = fs.readFileSync(path, 'utf8');
  if (text !== '' && !OURS.test(text)) throw new Error('the file there is something else');
  return text;
}
