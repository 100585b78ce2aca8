import type { Operation } from './operations.ts';

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
