import { join } from 'node:path';
import type { Contender } from '../frame/rounds.ts';
import type { SectionContext } from '../frame/section.ts';
import type { InsertRun } from './insert-loop.ts';

/** The bare insert loop as a contender; its rate goes into `column`. */
export async function insertContender(
  { children, directory }: SectionContext,
  name: string,
  column: string,
  run: InsertRun,
): Promise<Contender> {
  const program = new URL('./insert-loop.ts', import.meta.url);
  const file = join(directory, `insert-${run.perCommit}.db`);
  const loop = await children.start(program, [file]);
  return {
    name,
    measure: async () => {
      const { ms } = await loop.ask<{ ms: number }>(run);
      return { [column]: (run.links / ms) * 1000 };
    },
  };
}
