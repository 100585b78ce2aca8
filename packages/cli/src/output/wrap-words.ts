/** Breaks lines at spaces so that a terminal of `width` columns need not break them inside words. */
export function wrapWords(text: string, width: number | undefined): string {
  if (width === undefined || width < 1) return text;
  return text
    .split('\n')
    .map((line) => wrapLine(line, width))
    .join('\n');
}

function wrapLine(line: string, width: number): string {
  const [first = '', ...words] = line.split(' ');
  const lines: string[] = [];
  let current = first;
  for (const word of words) {
    const longer = `${current} ${word}`;
    if (longer.length > width) lines.push(current);
    current = longer.length > width ? word : longer;
  }
  return [...lines, current].join('\n');
}
