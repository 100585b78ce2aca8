/** What a program needs before it reads a table, such as for its help, and cells as it writes them. It loads nothing of the reader. */
export { csvCell, csvLine, dropFormulaGuard, quoted } from './csv-cell.ts';
export {
  InputError,
  inputError,
  refuseConflict,
  shown,
  systemReason,
  temporaryError,
} from './errors.ts';
export { LineSplitter } from './lines.ts';
export { DELIMITER, ENCODING } from './option-values.ts';
export {
  type AddedColumns,
  type BookCell,
  INPUT_FORMATS,
  LINK_FIELDS,
  type LinkField,
  type Plan,
  type Row,
  type TableSettings,
} from './types.ts';
