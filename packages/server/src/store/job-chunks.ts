import type { NewLink } from './store.ts';

/**
 * Links that one step of a job creates. Large enough that a commit's wait for the disk weighs little, small enough that
 * requests which arrive meanwhile wait a few milliseconds.
 */
export const JOB_CHUNK_LINKS = 500;

/** Cuts the links of a job into the JSON arrays that are stored until their turn comes. */
export function toJobChunks(links: readonly NewLink[]): string[] {
  const chunks: string[] = [];
  for (let start = 0; start < links.length; start += JOB_CHUNK_LINKS) {
    chunks.push(JSON.stringify(links.slice(start, start + JOB_CHUNK_LINKS)));
  }
  return chunks;
}
