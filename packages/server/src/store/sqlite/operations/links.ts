import { findLink } from '../../queries/links.ts';
import type { Operation } from './operations.ts';

/** Nearly always the link was clicked before, so its row is looked for first. */
export const addClicks: Operation<'addClicks'> = ({ db }, clicks) => {
  for (const [code, count] of clicks) {
    const added = db.run('UPDATE link_clicks SET clicks = clicks + ? WHERE code = ?', count, code);
    if (added === 0) {
      db.run(
        'INSERT INTO link_clicks (code, clicks) SELECT code, ? FROM links WHERE code = ?',
        count,
        code,
      );
    }
  }
};

export const setLinkActive: Operation<'setLinkActive'> = ({ db, shortUrl }, code, active) => {
  db.run('UPDATE links SET is_active = ? WHERE code = ?', active ? 1 : 0, code);
  return db.read(findLink(shortUrl, code));
};
