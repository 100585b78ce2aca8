import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { checkAnchors } from '../scripts/check-anchors.ts';
import { liveExamples } from '../scripts/live-examples.ts';
import { writeLlmsFiles } from '../scripts/llms.ts';
import { linkToSource } from '../scripts/source-links.ts';
import { sidebar } from './sidebar.ts';

const { version }: { version: string } = JSON.parse(
  readFileSync(new URL('../../sdk/package.json', import.meta.url), 'utf8'),
);

export default defineConfig({
  title: 'Shortlink',
  description:
    'A short-link service in TypeScript: a typed client, a command that imports files of any size exactly once, and a server to host yourself.',
  lang: 'en',
  // For a site in a folder of its host: `pnpm run docs --base /shortlink/`.
  cleanUrls: true,
  srcExclude: ['README.md', 'scripts/**'],
  lastUpdated: false,
  // The service finds its WebAssembly beside itself.
  vite: { optimizeDeps: { exclude: ['@shortlink/server/browser'] } },
  markdown: {
    config: (markdown) => {
      linkToSource(markdown);
      liveExamples(markdown);
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
    languageAlias: { promql: 'txt' },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    sidebar,
    nav: [
      { text: 'Guides', link: '/start/sdk' },
      { text: 'Protocol', link: '/protocol' },
      { text: 'Reference', link: '/reference/cli' },
      { text: version, link: '/production/upgrade' },
    ],
    docFooter: { prev: 'Before', next: 'Next' },
  },
  async buildEnd(site) {
    await checkAnchors(site.outDir, site.site.base);
    await writeLlmsFiles(site);
  },
});
