/** What a row holds in Excel itself. */
export const MAX_COLUMNS = 16_384;

/** Cells by the numbers of their rows and columns; rows count from 1, columns from 0. */
export interface Range {
  top: number;
  left: number;
  bottom: number;
  right: number;
}

/** @param ref - such as `A2`, or `A2:C9` */
export function rangeOf(ref: string): Range {
  const [from = '', to = from] = ref.split(':');
  const bottom = Number(/\d+$/.exec(to)?.[0]);
  return { top: Number(/\d+$/.exec(from)?.[0]), left: columnOf(from), bottom, right: columnOf(to) };
}

/** Names a cell by one number. */
export function cellNumber(row: number, column: number): number {
  return row * MAX_COLUMNS + column;
}

/** Index of the column of a cell such as `AB12`, from 0; -1 where none is named. */
export function columnOf(ref: string): number {
  let number = 0;
  for (let at = 0; ref.charCodeAt(at) >= 65; at += 1)
    number = number * 26 + ref.charCodeAt(at) - 64;
  return number - 1;
}
