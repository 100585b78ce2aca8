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

const DAY_SECONDS = 24 * 60 * 60;

/** Day 0. Excel counts a 29th of February in 1900, so that the days before it are one later. */
const EPOCH_DAYS = Date.UTC(1899, 11, 30) / 1000 / DAY_SECONDS;
const LAST_WRONG_DAY = 60;
const DAYS_TO_1904 = 1462;
/** The end of the year 9999. */
const LAST_DAY = 2_958_465;
/** The zeros of a padded number. A language may stand before them, in brackets. */
const PAD = /(?<!\[[^\]]*)0{2,}/;

/** What a number means, by the code of its format. */
type Kind = 'number' | 'date' | 'time' | 'date and time' | 'percent' | 'padded';

/** Codes are few, and cells are many. */
const kinds = new Map<string, Kind>();

function kindOf(format: string): Kind {
  if (format === '') return 'number';
  const known = kinds.get(format);
  if (known !== undefined) return known;
  // Texts in a format are no code, nor are colours and conditions. Behind the first ; comes the format of negative numbers.
  const quoted = /"[^"]*"|\\.|[_*].|\[(?![hms]+\])[^\]]*\]/gi;
  const code = format.replaceAll(quoted, '').split(';', 1)[0] ?? '';
  const hasTime = /[hs]/i.test(code);
  let kind: Kind = 'number';
  if (/[yd]/i.test(code) || (/m/i.test(code) && !hasTime))
    kind = hasTime ? 'date and time' : 'date';
  else if (hasTime) kind = 'time';
  else if (code.includes('%')) kind = 'percent';
  else if (/^0{2,}$/.test(code)) kind = 'padded';
  kinds.set(format, kind);
  return kind;
}

/**
 * A number as somebody types it who sees it: a date as ISO 8601, a percentage with its sign, a number with the zeros before it. Of a whole
 * number all digits stay, of others those 15 that Excel shows.
 * @param raw - as it is written in the file
 * @param format - the code of its format; empty where it has none
 */
export function numberText(raw: string, format: string): string {
  const kind = kindOf(format);
  const plain = /^-?\d+$/.test(raw) ? raw : rounded(Number(raw));
  switch (kind) {
    case 'number':
      return plain;
    case 'percent':
      return `${rounded(Number(raw) * 100)}%`;
    case 'padded':
      return /^\d+$/.test(plain) ? plain.padStart(PAD.exec(format)?.[0].length ?? 0, '0') : plain;
    default:
      return dateText(Number(raw), kind, format) ?? plain;
  }
}

/** The number of a date as most workbooks count days, and as results do, of one in a workbook that counts from 1904. */
export function since1900(raw: string, format: string): string {
  const isDay = kindOf(format).startsWith('date') && raw !== '' && Number(raw) >= 0;
  return isDay ? String(Number(raw) + DAYS_TO_1904) : raw;
}

function rounded(number: number): string {
  return String(Number(number.toPrecision(15)));
}

/** Undefined where there is no such date. */
function dateText(serial: number, kind: Kind, format: string) {
  const seconds = Math.round(serial * DAY_SECONDS);
  const days = Math.floor(seconds / DAY_SECONDS);
  if (!(serial >= 0 && days <= LAST_DAY)) return undefined;
  const clock = new Date((seconds % DAY_SECONDS) * 1000).toISOString().slice(11, 19);
  const time = clock.replace(/:00$/, '');
  // [h] counts hours beyond a day.
  const hours = /\[h/i.test(format) ? Math.floor(seconds / 3600) : time.slice(0, 2);
  if (kind === 'time') return hours + time.slice(2);
  const day = EPOCH_DAYS + days + (days < LAST_WRONG_DAY ? 1 : 0);
  const date = new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 10);
  return kind === 'date' ? date : `${date} ${time}`;
}

/** A text without the marks that stand for what XML can't hold: `_x000D_` is a carriage return. */
export function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replaceAll(/_x([\dA-F]{4})_/gi, (_, code) => String.fromCharCode(parseInt(code, 16)));
}
