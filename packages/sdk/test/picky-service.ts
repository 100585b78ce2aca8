import type { CreateLinkBody } from '../src/wire/link.ts';
import { apiError, badRequest, FakeService } from './fake-service.ts';

/** How a {@link pickyService} refuses entries. */
export interface Picky {
  /** Whether an entry is bad. */
  isBad?: (position: number) => boolean;
  /** Most entries that one response names; 0 names none. */
  details?: number;
  /** Larger batches are refused with 400. */
  maxLinks?: number;
}

/** Position of a link of `links()` in its source. */
export function positionOf({ target_url }: CreateLinkBody): number {
  return Number(target_url.split('/').at(-1));
}

/** A service that refuses a batch whole for one bad entry, as the reference server does. */
export function pickyService({ isBad = () => false, details = 100, maxLinks }: Picky): FakeService {
  const service = new FakeService();
  service.onBatch = (_, sent) => {
    if (maxLinks !== undefined && sent.length > maxLinks) {
      throw apiError(400, { error: 'too many links' });
    }
    const bad = [...sent.entries()].filter(([, link]) => isBad(positionOf(link)));
    if (bad.length === 0) return;
    const named = bad.slice(0, details).map(([index, link]) => ({
      index,
      field: 'target_url',
      message: `bad entry ${positionOf(link)}`,
    }));
    throw badRequest(details > 0 ? named : undefined);
  };
  return service;
}
