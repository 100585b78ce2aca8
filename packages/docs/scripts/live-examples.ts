import type { MarkdownRenderer } from 'vitepress';

/** Pages whose examples run where they are read. */
export const LIVE_PAGES = ['start/sdk.md', 'sdk/errors.md', 'sdk/bulk.md', 'sdk/testing.md'];

/** A block of TypeScript, perhaps with the name of its file; a file of tests needs a program that runs it. */
const LIVE = /^ts(?: \[(?!.*\.test\.)[^\]]*\])?$/;

/** Puts each TypeScript block of these pages into a component that can run it. */
export function liveExamples(markdown: MarkdownRenderer): void {
  const { fence } = markdown.renderer.rules;
  if (fence === undefined) throw new Error('VitePress renders no blocks of code.');
  markdown.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index];
    // VitePress takes the name of a file out of it.
    const info = token?.info.trim();
    const html = fence(tokens, index, options, env, self);
    if (token === undefined || !LIVE.test(info ?? '') || !LIVE_PAGES.includes(env.relativePath))
      return html;
    const source = encodeURIComponent(token.content.trimEnd()).replaceAll("'", '%27');
    return `<LiveExample source="${source}">${html}</LiveExample>`;
  };
}
