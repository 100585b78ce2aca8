import headless, { type IBufferCell } from '@xterm/headless';

/** The colours of a terminal in light and in dark, in the order of ANSI: black, red, green, … and then the bright ones. */
const LIGHT =
  '#24292f #cf222e #116329 #7d4e00 #0550ae #8250df #1b7c83 #6e7781 #57606a #a40e26 #1a7f37 #633c01 #0969da #a475f9 #3192aa #8c959f';
const DARK =
  '#6e7681 #ff7b72 #56d364 #e3b341 #79c0ff #bc8cff #39c5cf #c9d1d9 #8b949e #ffa198 #7ee787 #f2cc60 #a5d6ff #d2a8ff #56d4dd #f0f6fc';

const CHAR_WIDTH = 8.4;
const LINE_HEIGHT = 20;
const PADDING = 16;

/** Draws the screen of a terminal that has received this output, as an SVG picture that follows the reader's light or dark theme. */
export async function screenSvg(written: string, columns: number, title: string): Promise<string> {
  const terminal = new headless.Terminal({ cols: columns, rows: 200, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(written, resolve));
  const buffer = terminal.buffer.active;
  const lines = Array.from({ length: buffer.length }, (_, y) => {
    const line = buffer.getLine(y);
    return runsOf(
      Array.from({ length: columns }, (_, x) => line?.getCell(x)).filter(
        (cell) => cell !== undefined,
      ),
    );
  });
  terminal.dispose();
  const used = lines.slice(
    0,
    lines.findLastIndex((runs) => runs.some(({ text }) => text.trim() !== '')) + 1,
  );
  return picture(used, columns, title);
}

/** Neighbouring characters of the same style. */
interface Run {
  column: number;
  text: string;
  style: string;
}

function runsOf(cells: readonly IBufferCell[]): Run[] {
  const runs: Run[] = [];
  cells.forEach((cell, column) => {
    const text = cell.getChars() || ' ';
    const style = styleOf(cell);
    const last = runs.at(-1);
    // Spaces end a run, so that each word keeps its position in any font.
    if (
      last !== undefined &&
      last.style === style &&
      (text === ' ') === last.text.startsWith(' ')
    ) {
      last.text += text;
    } else {
      runs.push({ column, text, style });
    }
  });
  return runs.filter(({ text }) => text.trim() !== '');
}

function styleOf(cell: IBufferCell): string {
  return [
    cell.isFgPalette() && cell.getFgColor() < 16 ? `c${cell.getFgColor()}` : '',
    cell.isBold() ? 'bold' : '',
    cell.isDim() ? 'dim' : '',
  ]
    .filter((name) => name !== '')
    .join(' ');
}

function picture(lines: readonly Run[][], columns: number, title: string): string {
  const width = Math.ceil(columns * CHAR_WIDTH + 2 * PADDING);
  const height = lines.length * LINE_HEIGHT + 2 * PADDING;
  const texts = lines.flatMap((runs, y) =>
    runs.map(({ column, text, style }) => {
      const x = (PADDING + column * CHAR_WIDTH).toFixed(1);
      const baseline = PADDING + y * LINE_HEIGHT + 15;
      const length = ([...text].length * CHAR_WIDTH).toFixed(1);
      const className = style === '' ? '' : ` class="${style}"`;
      return `<text x="${x}" y="${baseline}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${className}>${escapeXml(text)}</text>`;
    }),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">
<title id="title">${escapeXml(title)}</title>
<style>
${colors(LIGHT, '#f6f8fa', '#24292f', '#d0d7de')}
@media (prefers-color-scheme: dark) {
${colors(DARK, '#161b22', '#e6edf3', '#30363d')}
}
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
.bold { font-weight: 700 }
.dim { opacity: .65 }
</style>
<rect class="screen" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
${texts.join('\n')}
</svg>
`;
}

function colors(palette: string, background: string, ink: string, border: string): string {
  const rules = palette.split(' ').map((color, n) => `.c${n} { fill: ${color} }`);
  return [
    `.screen { fill: ${background}; stroke: ${border} }`,
    `text { fill: ${ink} }`,
    ...rules,
  ].join('\n');
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
