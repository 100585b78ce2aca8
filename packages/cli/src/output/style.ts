import { styleText } from 'node:util';
import type { Io, OutputStream } from '../io.ts';

export type Paint = (text: string) => string;

/** How a stream is drawn on; `flag` is false with `--no-color`. */
export function styleOf(stream: OutputStream, env: Io['env'], flag: boolean | undefined): Style {
  return createStyle(wantsColor(stream, env, flag), isInteractive(stream, env) && !wantsAscii(env));
}

/** Functions that colour text or return it as it is, and whether tables have borders. */
export type Style = ReturnType<typeof createStyle>;

export function createStyle(enabled: boolean, boxes = false) {
  // `wantsColor` has decided: styleText must not look at the environment again.
  const paint =
    (format: Parameters<typeof styleText>[0]): Paint =>
    (text) =>
      enabled ? styleText(format, text, { validateStream: false }) : text;
  return {
    enabled,
    boxes,
    bold: paint('bold'),
    dim: paint('dim'),
    red: paint('red'),
    green: paint('green'),
    yellow: paint('yellow'),
  };
}

/** Whether it is a terminal that can draw, and no CI job's. Some systems set `CI=false`. */
function isScreen({ isTTY }: OutputStream, env: Io['env']): boolean {
  const isCi = !['', '0', 'false'].includes(env['CI']?.toLowerCase() ?? '');
  return isTTY === true && !isCi && env['TERM'] !== 'dumb';
}

/** `--no-color`, then NO_COLOR (https://no-color.org: any value but the empty one), then FORCE_COLOR, then a terminal that isn't a CI job's. */
export function wantsColor(stream: OutputStream, env: Io['env'], flag = true): boolean {
  const force = env['FORCE_COLOR'];
  if (!flag || (env['NO_COLOR'] ?? '') !== '' || force === '0' || force === 'false') return false;
  return force !== undefined || isScreen(stream, env);
}

/** Whether a stream can be drawn on more than once. A pseudo-terminal without a window may have a width of 0. */
export function isInteractive(stream: OutputStream, env: Io['env']): boolean {
  return stream.columns !== 0 && isScreen(stream, env);
}

/** Whether the locale has no UTF-8. Where none is set, UTF-8 is likely by now. */
export function wantsAscii(env: Io['env']): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  const [, charset = 'utf8'] = /\.([^@]*)/.exec(locale) ?? [];
  return locale === 'C' || locale === 'POSIX' || !/^utf-?8$/i.test(charset);
}

const ASCII_SIGNS: Readonly<Record<string, string>> = {
  '✓': '+',
  '✗': 'x',
  '█': '#',
  '░': '.',
  '→': '->',
  '←': '<-',
  '…': '...',
  '·': '-',
};

export function toAscii(text: string): string {
  return text.replaceAll(/[✓✗█░→←…·]/g, (sign) => ASCII_SIGNS[sign] ?? sign);
}
