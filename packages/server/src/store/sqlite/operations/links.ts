import { findLink } from '../../queries/links.ts';
import type { Operation } from './operations.ts';

export const setLinkActive: Operation<'setLinkActive'> = ({ db, shortUrl }, { code, active }) => {
  db.run('UPDATE links SET is_active = ? WHERE code = ?', active ? 1 : 0, code);
  return db.read(findLink(shortUrl, code));
};
