import type { Children } from './processes.ts';
import type { Figure } from './rounds.ts';

/** One line of a table: a contender and its figures, by column. */
export interface Row {
  name: string;
  figures: Readonly<Record<string, Figure>>;
}

/** A requirement and what was measured. */
export interface Check {
  /** What must hold, such as `ours/ky at 50`. */
  name: string;
  measured: number;
  wanted: { atLeast: number } | { atMost: number };
}

/** The outcome of one part of a suite. */
export interface Section {
  title: string;
  /** One or two sentences: what was done, and what a figure is. */
  about: string;
  rows: Row[];
  checks?: Check[] | undefined;
}

/** What every section receives. */
export interface SectionContext {
  /** Rounds that count in each comparison. */
  rounds: number;
  /** Factor on the number of requests and links; small for a quick look. */
  scale: number;
  /** Includes what takes many minutes or gigabytes. */
  large: boolean;
  /** The processes of this section; all of them are stopped when it ends. */
  children: Children;
  /** A directory that is removed when the section ends. */
  directory: string;
}

/** A suite: its sections by name, in the order they run. */
export type Suite = Readonly<Record<string, (context: SectionContext) => Promise<Section>>>;

/** `amount` requests or links at scale 1, never fewer than `least`. */
export function scaled(amount: number, { scale }: SectionContext, least = 50): number {
  return Math.max(least, Math.round(amount * scale));
}

/** The median of one figure, for a check. */
export function medianOf(rows: readonly Row[], name: string, column: string): number {
  const figure = rows.find((row) => row.name === name)?.figures[column];
  if (figure === undefined) throw new Error(`${name} has no figure "${column}"`);
  return figure.median;
}
