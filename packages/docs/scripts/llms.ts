import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SiteConfig } from 'vitepress';
import { sidebar } from '../.vitepress/sidebar.ts';

/**
 * Writes `llms.txt`, a list of the pages with one line about each, and `llms-full.txt`, all of their text, for programs that read
 * documentation (llmstxt.org). Both are in the order of the sidebar.
 */
export async function writeLlmsFiles({ srcDir, outDir, site }: SiteConfig): Promise<void> {
  const list: string[] = [`# ${site.title}`, `> ${site.description}`];
  const full: string[] = [];
  for (const { text = '', link, items = [{ text, link: link ?? '' }] } of sidebar) {
    const lines: string[] = [];
    for (const item of items) {
      const path = item.link?.replace(/\/$/, '/index') ?? '';
      const page = await readFile(join(srcDir, `${path}.md`), 'utf8');
      lines.push(`- [${item.text}](${site.base}${path.slice(1)}): ${firstParagraph(page)}`);
      full.push(`<!-- ${path} -->\n\n${page.replace(/^---\n.*?\n---\n/s, '').trim()}`);
    }
    list.push(`## ${text}`, lines.join('\n'));
  }
  await writeFile(join(outDir, 'llms.txt'), `${list.join('\n\n')}\n`);
  await writeFile(join(outDir, 'llms-full.txt'), `${full.join('\n\n')}\n`);
}

/** The first text below the title, on one line. */
function firstParagraph(page: string): string {
  const text = page
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .find((block) => /^[\w`"*[]/.test(block));
  return (text ?? '').replaceAll('\n', ' ').replace(/\]\([^)]*\)/g, ']').replace(/[[\]]/g, '');
}
