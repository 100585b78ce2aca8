import { sqlText } from '../../queries/reading.ts';
import { pruneSteps } from '../../retention.ts';
import type { Operation } from './operations.ts';
import { indexLinks } from './targets.ts';

const ENGINE = { daily: ['key_days'], window: 'window', unlessLocked: sqlText('') };

export const pruneSome: Operation<'pruneSome'> = (context, now) => {
  const more = pruneSteps(now, ENGINE).map((step) => context.db.read(step()));
  const { done } = indexLinks(context);
  return { done: done && !more.includes(true) };
};

/** SQLite writes no page for a row that stays the same, but it does for this number, which nobody uses. */
export const probe: Operation<'probe'> = ({ db }) => {
  db.exec('PRAGMA user_version = 0');
};
