import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';

/** Looks hostnames of custom domains up, each once: a domain keeps its hostname and is never deleted. */
export function hostnameLookup(): (
  session: Session,
  domainId: string | null,
) => Promise<string | null> {
  const known = new Map<string, string>();
  return async (session, domainId) => {
    if (domainId === null) return null;
    let hostname = known.get(domainId);
    if (hostname === undefined) {
      const row = await session.get<{ hostname: string }>(
        'SELECT hostname FROM domains WHERE id = $1',
        domainId,
      );
      if (row === undefined) throw new StoreError('internal', `There is no domain ${domainId}.`);
      hostname = row.hostname;
      known.set(domainId, hostname);
    }
    return hostname;
  };
}
