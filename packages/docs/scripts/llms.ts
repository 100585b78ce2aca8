import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SiteConfig } from 'vitepress';
import { sidebar } from '../.vitepress/sidebar.ts';

/**
 * Writes `llms.txt`, a list of the pages with one line about each, and `llms-full.txt`, all of their text, for programs that read
 * documentation (llmstxt.org). Both are in the order of the sidebar. Beside each page stands its Markdown, under its name and `.md`.
 *
 * @param host - where the site is served, with a slash at its end: a program that reads a list alone needs whole addresses
 */
export async function writeLlmsFiles(
  { srcDir, outDir, site }: SiteConfig,
  host: string,
): Promise<void> {
  const list: string[] = [`# ${site.title}`, `> ${site.description}`];
  const full: string[] = [];
  for (const { text = '', link, items = [{ text, link: link ?? '' }] } of sidebar) {
    const lines: string[] = [];
    for (const item of items) {
      const path = item.link ?? '';
      const file = join(srcDir, `${path.replace(/\/$/, '/index')}.md`);
      const page = await withIncludedFiles(await readFile(file, 'utf8'), dirname(file));
      const twin = `${path.slice(1).replace(/\/$/, '/index')}.md`;
      await writeFile(join(outDir, twin), page);
      lines.push(`- [${item.text}](${host}${twin}): ${firstSentence(page)}`);
      full.push(`<!-- ${path} -->\n\n${page.trim()}`);
    }
    list.push(`## ${text}`, lines.join('\n'));
  }
  await writeFile(join(outDir, 'llms.txt'), `${list.join('\n\n')}\n`);
  await writeFile(join(outDir, 'llms-full.txt'), `${full.join('\n\n')}\n`);
}

/** VitePress replaces a line `<<< path` by the file. */
async function withIncludedFiles(page: string, folder: string): Promise<string> {
  const lines = page.split('\n').map(async (line) => {
    const path = /^<<< (\S+)$/.exec(line)?.[1];
    if (path === undefined) return line;
    return `\`\`\`\n${await readFile(join(folder, path), 'utf8')}\`\`\``;
  });
  return (await Promise.all(lines)).join('\n');
}

/** The first sentence below the title, without its links. */
export function firstSentence(page: string): string {
  const text = page
    .split(/\n{2,}/)
    .map((block) => block.trim().replaceAll('\n', ' '))
    .find((block) => /^(\w|`[\w@]|\[|\*\*)/.test(block));
  const [sentence = ''] = text?.split(/(?<=\.) /) ?? [];
  return sentence
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/[[\]]/g, '')
    .replace(/:$/, '.');
}
