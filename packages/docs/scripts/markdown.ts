/** Escapes text, since pages are Markdown and Vue templates. */
export function shown(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('{{', '&#123;&#123;')
    .replace(/[|*[\]]/g, '\\$&');
}

/** Code inside a line. VitePress doesn't interpret `{{` in it. A bar is escaped, since it would end a cell of a table. */
export function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``;
}

/** A table; cells are Markdown already. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The id that VitePress gives to this heading where its text is words and slashes. */
export function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s/{}-]/g, '')
    .replace(/[\s/{}]+/g, '-')
    .replace(/-+/g, '-')
    .replace(/^-|-$/g, '');
}
