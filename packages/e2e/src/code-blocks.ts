/** A fenced block of a Markdown file. */
export interface CodeBlock {
  /** The word after the fence, such as `ts`. */
  language: string;
  /** The name of the file that it shows: `links.csv` for a fence such as "csv [links.csv]". */
  file: string | undefined;
  code: string;
  /** Line of the file on which the code begins, from 1. */
  line: number;
}

/** The fenced blocks of a Markdown text (CommonMark section 4.5; fences of three backticks at the line's beginning). */
export function codeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: CodeBlock | undefined;
  markdown.split(/\r?\n/).forEach((text, index) => {
    const fence = /^```\s*(\S*)(?: \[(.+)\])?/.exec(text);
    if (open === undefined) {
      if (fence) open = { language: fence[1] ?? '', file: fence[2], code: '', line: index + 2 };
    } else if (fence) {
      blocks.push(open);
      open = undefined;
    } else {
      open.code += `${text}\n`;
    }
  });
  if (open !== undefined) throw new Error(`the block at line ${open.line} is never closed`);
  return blocks;
}

/** The examples in the doc comments of a TypeScript source: what follows `@example`, up to the next tag. */
export function docExamples(source: string): CodeBlock[] {
  return [...source.matchAll(/^[ \t]*\* @example\n((?:[ \t]*\*(?! @|\/).*\n)+)/gm)].map((found) => {
    const lines = (found[1] ?? '').split('\n').map((line) => line.replace(/^[ \t]*\* ?/, ''));
    const line = source.slice(0, found.index).split('\n').length + 1;
    // A fence around the example becomes an empty line, so that the other lines keep their numbers.
    const code = lines.map((text) => (text.startsWith('```') ? '' : text)).join('\n');
    return { language: 'ts', file: undefined, code, line };
  });
}
