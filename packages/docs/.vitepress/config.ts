import { readFileSync } from 'node:fs';
import { defineConfig, type HeadConfig, type PageData } from 'vitepress';
import { siteUrl } from '../../tools/src/manifests.ts';
import { checkAnchors } from '../scripts/check-anchors.ts';
import { liveExamples } from '../scripts/live-examples.ts';
import { firstSentence, writeLlmsFiles } from '../scripts/llms.ts';
import { linkToSource } from '../scripts/source-links.ts';
import { sidebar } from './sidebar.ts';

const { repository }: { repository: string } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
);

/** Where GitHub Pages serves the site. */
const SITE = siteUrl(repository);

const { version }: { version: string } = JSON.parse(
  readFileSync(new URL('../../sdk/package.json', import.meta.url), 'utf8'),
);

const DESCRIPTION =
  'A short-link service in TypeScript: a typed client, a command that imports files of any size exactly once, and a server to host yourself.';

export default defineConfig({
  title: 'Shortlink',
  description: DESCRIPTION,
  lang: 'en',
  // For a site in a folder of its host: `pnpm run docs --base /shortlink/`.
  cleanUrls: true,
  srcExclude: ['README.md', 'scripts/**'],
  lastUpdated: false,
  sitemap: { hostname: SITE },
  transformHead: ({ pageData, siteData }) => headOf(pageData, siteData.base),
  transformPageData(page) {
    // A page without a description of its own is described by its first sentence.
    const text = readFileSync(new URL(`../${page.filePath}`, import.meta.url), 'utf8');
    page.description ||= firstSentence(text) || DESCRIPTION;
  },
  // The service finds its WebAssembly beside itself.
  vite: { optimizeDeps: { exclude: ['@shortlink/server/browser'] } },
  markdown: {
    config: (markdown) => {
      linkToSource(markdown);
      liveExamples(markdown);
    },
    anchor: { slugify: idOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    languageAlias: { promql: 'txt' },
  },
  themeConfig: {
    logo: '/logo.svg',
    search: {
      provider: 'local',
      options: {
        // Guides come before the reference, where both have a word. The function runs in the page, and must be whole by itself.
        miniSearch: {
          searchOptions: { boostDocument: (id: string) => (id.includes('/reference/') ? 0.3 : 1) },
        },
        _render: (source, env, markdown) => {
          // The index is text, so its renderer, which renders nothing else, leaves the colours of code out.
          markdown.options.highlight = null;
          const html = markdown.render(source, env);
          return env.frontmatter?.['search'] === false ? '' : html;
        },
      },
    },
    editLink: {
      pattern: `${repository}/edit/main/packages/docs/:path`,
      text: 'Edit this page on GitHub',
    },
    socialLinks: [{ icon: 'github', link: repository }],
    outline: { level: [2, 3] },
    sidebar,
    nav: [
      { text: 'Guides', link: '/start/why' },
      { text: 'Reference', link: '/reference/cli' },
      { text: version, link: '/reference/changes' },
    ],
    // What a link is called is what it shows.
    notFound: { linkLabel: 'Take me home' },
    docFooter: { prev: 'Before', next: 'Next' },
  },
  async buildEnd(site) {
    await checkAnchors(site.outDir, site.site.base);
    await writeLlmsFiles(site, SITE);
  },
});

/** What a preview of the page shows where somebody shares its address. */
function headOf({ title, description, relativePath }: PageData, base: string): HeadConfig[] {
  const path = relativePath.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '');
  const properties = {
    'og:type': 'website',
    'og:site_name': 'Shortlink',
    'og:title': title || 'Shortlink',
    'og:description': description,
    'og:url': SITE + path,
    'og:image': `${SITE}og.png`,
  };
  return [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}logo.svg` }],
    ['link', { rel: 'canonical', href: SITE + path }],
    ['meta', { name: 'twitter:card', content: 'summary_large_image' }],
    ...Object.entries(properties).map(
      ([property, content]): HeadConfig => ['meta', { property, content }],
    ),
  ];
}

/** The id of a heading. Names such as `MAX_TAGS` keep their underscores, as the reference's own links have them. */
function idOf(heading: string): string {
  const words = heading.normalize('NFKD').replaceAll(/[\u0300-\u036f]/g, '');
  const id = words.replaceAll(/[^\p{L}\p{N}_]+/gu, '-').replaceAll(/^-+|-+$/g, '');
  return id.replace(/^(?=\d)/, '_').toLowerCase();
}
