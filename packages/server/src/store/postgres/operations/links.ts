import type { Link } from '@shortlink/sdk/wire';
import { LINK_CHANGES_CHANNEL } from '../link-changes.ts';
import { findLink } from '../queries/links.ts';
import type { Session } from '../session.ts';

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
  return findLink(session, shortUrl, code);
}
