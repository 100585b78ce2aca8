import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MarkdownRenderer } from 'vitepress';

const DOCS = 'packages/docs';
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The address under which the repository's files can be read, from the root package.json. */
function sourceUrl(): string {
  const { repository }: { repository?: string | { url: string } } = JSON.parse(
    readFileSync(`${ROOT}package.json`, 'utf8'),
  );
  const url = typeof repository === 'object' ? repository.url : repository;
  const address = url
    ?.replace(/^git\+/, '')
    .replace(/\.git$/, '')
    .replace(/^github:/, 'https://github.com/');
  return `${address ?? 'https://github.com/example/shortlink'}/blob/main/`;
}

/**
 * A link to a file of the repository that is no page, such as `../server/test/batch.test.ts`, works where the Markdown is read in the
 * repository. On the site it leads to the repository. A file that doesn't exist fails the build.
 */
export function linkToSource(markdown: MarkdownRenderer): void {
  const base = sourceUrl();
  markdown.core.ruler.push('source-links', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || !href.startsWith('../')) continue;
      const [path = ''] = href.split('#');
      const target = posix.join(DOCS, posix.dirname(env.relativePath), path);
      if (target.startsWith(`${DOCS}/`)) continue;
      if (!existsSync(`${ROOT}${target}`)) {
        throw new Error(`${env.relativePath} links to ${target}, which is not there.`);
      }
      token.attrSet('href', base + target);
    }
  });
}
