/** Opens an input, detects how its table is written, and reads its rows. */
export { numberText } from './book-cells.ts';
export {
  cleanTags,
  isNested,
  isTextList,
  looksLikeUrl,
  splitTags,
  toCell,
  trimmed,
} from './cells.ts';
export { type Page, readDocument } from './document.ts';
export { sheetNames } from './head.ts';
export { detectTable, type TableLayout } from './layout.ts';
export { ALIASES, columnKey, isOfOneService, isShortLinkColumn } from './map-columns.ts';
export { type Input, inputGuard, openInput } from './open-input.ts';
export { readRows } from './read-rows.ts';
