import type { Link } from '@shortlink/sdk/wire';
import { findLink } from '../../queries/links.ts';
import { readAsync } from '../../queries/reading.ts';
import { readingOn, type Session } from '../session.ts';

export async function setLinkActive(
  session: Session,
  shortUrl: (code: string, hostname: string | null) => string,
  code: string,
  active: boolean,
): Promise<Link | undefined> {
  await session.run('UPDATE links SET is_active = $2 WHERE code = $1', code, active);
  return readAsync(findLink(shortUrl, code), readingOn(session));
}
