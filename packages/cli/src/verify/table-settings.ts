import type { ImportSettings } from '../import/types.ts';

/** How a table of short URLs and targets is read. */
export interface TableSettings
  extends Pick<
    ImportSettings,
    'file' | 'inputFormat' | 'delimiter' | 'encoding' | 'sheet' | 'skipLines'
  > {
  /** `--map field=column`. */
  map: Partial<Record<(typeof TABLE_FIELDS)[number], string>>;
}

export const TABLE_FIELDS = ['short_url', 'target_url'] as const;
