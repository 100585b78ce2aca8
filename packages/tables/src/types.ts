/** Fields of a link that a column can fill. */
export const LINK_FIELDS = ['target_url', 'title', 'tags', 'domain_id', 'redirect_type'] as const;

export type LinkField = (typeof LINK_FIELDS)[number];

export const INPUT_FORMATS = ['auto', 'csv', 'tsv', 'jsonl', 'urls', 'xlsx'] as const;

export type InputFormat = (typeof INPUT_FORMATS)[number];

/** What the user says about an input. */
export interface TableSettings {
  /** The column of each field, as people write it. An empty one leaves the field out. */
  map: Partial<Record<LinkField, string>>;
  inputFormat: InputFormat;
  /** One character; undefined means that it is detected. */
  delimiter?: string | undefined;
  /** Name of a sheet of an .xlsx workbook; undefined is the visible one that has links. */
  sheet?: string | undefined;
  /** Lines (of an .xlsx sheet: rows) before the header. @default 0 */
  skipLines?: number | undefined;
  /** A label of the Encoding Standard; undefined is UTF-8, or UTF-16 by its BOM. */
  encoding?: string | undefined;
}

/** What a program has added to the tables that it wrote: columns that fill no field. */
export interface AddedColumns {
  /** Finds the header of such a table at the beginning of a text. The first group is the delimiter. */
  header: RegExp;
  /** Their places, by name; none where the table is not such a one. */
  find(columns: readonly string[], samples?: readonly Row[]): Readonly<Record<string, number>>;
}

/** The settings, and what the program that reads the table adds to them. */
export interface TableOptions extends TableSettings {
  /** Where a column of `map` is not there, the usual names are looked for: the map was made for another file. @default false */
  isMapOptional?: boolean;
  /** Whether a table without a column of target URLs is refused. @default true */
  needsTarget?: boolean;
  added?: AddedColumns | undefined;
}

/** What a cell of a workbook is besides the text that it shows. */
export interface BookCell {
  /** A number, a boolean or an error, as XML names them; undefined is text. */
  type?: string;
  /** Its value as it is written in the file. */
  value?: string;
  /** How a number is shown. */
  format?: string;
  /** Where it leads. */
  link?: string;
  /** What it shows, where the row has the link in its place. */
  text?: string;
}

/** One row of the input that holds something. */
export interface Row {
  /** Line of the file on which the row begins, from 1. */
  readonly line: number;
  /** As read; there may be fewer or more than columns. JSONL: the values of the columns' keys. May be built again at each access. */
  readonly cells: readonly string[];
  /** The row as CSV of so many cells, where it stands in the input just as it would be written with that delimiter. */
  asCsv?(width: number, delimiter: string): string | undefined;
  /** JSONL: the object itself, so that JSONL results can echo it with its types. */
  readonly object?: Readonly<Record<string, unknown>> | undefined;
  /** JSONL: a line that is no object, as it stands in the input. */
  readonly text?: string | undefined;
  /** .xlsx: what its cells are, by index, and whether one of them is a sum. */
  readonly book?: Readonly<Record<number, BookCell>> | undefined;
  readonly isSum?: boolean | undefined;
  /** CSV: no line break ends the row, so that the file may be cut off in it. */
  readonly isUnended?: boolean | undefined;
  /** Why the row could not even be split into cells. */
  readonly problem?: string | undefined;
}

/** What the beginning of the input says about all of it. It is shown before anything is sent. */
export interface Plan {
  format: Exclude<InputFormat, 'auto'>;
  encoding: string;
  delimiter: string | undefined;
  /** Of a workbook: the sheet, and its number among those that are visible; 0 where it is hidden. */
  sheet?: { name: string; number: number; of: number } | undefined;
  /** Names of the input's own columns. */
  columns: string[];
  hasHeader: boolean;
  /** Which column (by index) fills which field. */
  mapping: Partial<Record<LinkField, number>>;
  /** The target URL of the first row, as it would be sent; undefined where there is no row. */
  firstUrl?: string | undefined;
  /** Sentences for the user about what was guessed. */
  notes: string[];
}
