/** A fenced block of a Markdown file. */
export interface CodeBlock {
  /** What stands after the fence, such as `ts`. */
  language: string;
  code: string;
  /** Line of the file on which the code begins, from 1. */
  line: number;
}

/** The fenced blocks of a Markdown text (CommonMark section 4.5; fences of three backticks at the line's beginning). */
export function codeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: CodeBlock | undefined;
  markdown.split(/\r?\n/).forEach((text, index) => {
    const fence = /^```\s*(\S*)/.exec(text);
    if (open === undefined) {
      if (fence) open = { language: fence[1] ?? '', code: '', line: index + 2 };
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
