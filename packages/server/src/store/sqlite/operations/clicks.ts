import type { Operation } from './operations.ts';

export const addClicks: Operation<'addClicks'> = ({ db }, clicks) => {
  for (const [code, count] of clicks) {
    db.run('UPDATE links SET click_count = click_count + ? WHERE code = ?', count, code);
  }
};
