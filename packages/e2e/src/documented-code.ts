import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type CodeBlock, codeBlocks, docExamples } from './code-blocks.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A block of a page, a README or a doc comment. */
export interface DocumentedBlock extends CodeBlock {
  /** Its file, from the root of the repository. */
  name: string;
}

/** Markdown files that people wrote: READMEs and the pages of the site. */
export const PAGES = globSync(
  ['README.md', 'packages/*/README.md', 'examples/**/README.md', 'packages/docs/**/*.md'],
  { cwd: ROOT, exclude: (path) => /node_modules|docs\/reference/.test(path) },
).toSorted();

export function readPage(name: string): string {
  return readFileSync(`${ROOT}/${name}`, 'utf8');
}

/** The blocks of every page. */
export function pageBlocks(): DocumentedBlock[] {
  return PAGES.flatMap((name) => codeBlocks(readPage(name)).map((block) => ({ ...block, name })));
}

/** The TypeScript programs in pages and in doc comments. Each can be run unchanged. */
export function programs(): DocumentedBlock[] {
  const inPages = pageBlocks().filter(({ language }) => /^([cm]?[jt]s)$/.test(language));
  const inComments = globSync('packages/{sdk,server,cli}/src/**/*.ts', { cwd: ROOT })
    .toSorted()
    .flatMap((name) => docExamples(readPage(name)).map((block) => ({ ...block, name })));
  return [...inPages, ...inComments.map(withDefinitions)];
}

/** Declarations of the names that examples in doc comments use without defining them; each may use those before it. */
const DEFINITIONS: Record<string, string> = {
  Shortlink: "import { Shortlink } from '@shortlink/sdk';",
  startTestServer: "import { startTestServer } from '@shortlink/server/testing';",
  startPageService: "import { startPageService } from '@shortlink/server/browser';",
  createMswHandlers: "import { createMswHandlers } from '@shortlink/server/testing/msw';",
  setupServer: "import { setupServer } from 'msw/node';",
  apiKey: "const apiKey = 'YOUR_KEY';",
  shortlink: 'const shortlink = new Shortlink();',
  links: "const links = [{ target_url: 'https://example.com/a' }];",
  source: "const source = [{ target_url: 'https://example.com/a' }];",
};

/** The declarations stand on one line before the example, so that line numbers in messages stay right. */
function withDefinitions(block: DocumentedBlock): DocumentedBlock {
  const added: string[] = [];
  for (const [name, definition] of Object.entries(DEFINITIONS).toReversed()) {
    const code = [...added, block.code].join('\n');
    const isUsed = new RegExp(`(?<![.\\w])${name}\\b(?!:)`).test(code);
    const isDefined = new RegExp(`(const|import \\{.*) ${name}\\b`).test(code);
    if (isUsed && !isDefined) added.unshift(definition);
  }
  return { ...block, line: block.line - 1, code: `${added.join(' ')}\n${block.code}` };
}
