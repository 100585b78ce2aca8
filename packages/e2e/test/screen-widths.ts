import { expect } from 'vitest';
import { isNight } from '../src/is-night.ts';

/** Widths of terminals, in columns, for which screens are kept. */
export const WIDTHS = [40, 80, 120] as const;

export type Width = (typeof WIDTHS)[number];

/**
 * Whether a test shows its screen at this width. From 80 columns on all have the same parts, and 40 have room for fewer: each night shows the
 * widest too, and so does `vitest run -u`, which leaves no screen as it was.
 */
export function isPlayed(columns: Width): boolean {
  const { snapshotUpdateState } = expect.getState().snapshotState;
  return columns < 120 || isNight || snapshotUpdateState === 'all';
}
