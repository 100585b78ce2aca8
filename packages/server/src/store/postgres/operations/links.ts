import type { Link } from '@shortlink/sdk/wire';
import { findLink } from '../../queries/links.ts';
import { readAsync } from '../../queries/reading.ts';
import { LINK_CHANGES_CHANNEL } from '../link-changes.ts';
import { readingOn, type Session } from '../session.ts';

/** The notification is sent by the commit, so whoever gets it reads the new state. */
export async function setLinkActive(
  session: Session,
  shortUrl: (code: string, hostname: string | null) => string,
  code: string,
  active: boolean,
): Promise<Link | undefined> {
  await session.run(
    `WITH changed AS (UPDATE links SET is_active = $2 WHERE code = $1 RETURNING code)
     SELECT pg_notify('${LINK_CHANGES_CHANNEL}', code) FROM changed`,
    code,
    active,
  );
  return readAsync(findLink(shortUrl, code), readingOn(session));
}
