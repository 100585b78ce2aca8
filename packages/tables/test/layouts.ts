import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { detectTable, type TableLayout } from '../src/layout.ts';
import { readRows } from '../src/read-rows.ts';
import type { Row } from '../src/types.ts';

export type DetectOptions = Partial<Parameters<typeof detectTable>[1]>;

/** Writes inputs into a folder, and shows how they are read. */
export function layouts(directory: string) {
  const detect = async (
    content: string | Uint8Array,
    options: DetectOptions = {},
    name = 'x',
  ): Promise<TableLayout> => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return await detectTable({ path, name }, { map: {}, inputFormat: 'auto', ...options });
  };
  return {
    detect,
    /** The mapping by names, which reads better than by numbers. */
    mapped: async (content: string, options?: DetectOptions) => {
      const { plan } = await detect(content, options);
      return byName(plan);
    },
    /** The rows, and the mapping once all of them are read. */
    read: async (content: string, options: DetectOptions = {}, name = 'x') => {
      const layout = await detect(content, options, name);
      const rows: Row[] = [];
      for await (const some of readRows({ path: join(directory, name), name }, layout)) {
        rows.push(...some.map(({ line, cells }) => ({ line, cells })));
      }
      return { rows, mapped: byName(layout.plan) };
    },
  };
}

function byName({ mapping, columns }: TableLayout['plan']): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(mapping).map(([field, index]) => [field, columns[index ?? -1]]),
  );
}
