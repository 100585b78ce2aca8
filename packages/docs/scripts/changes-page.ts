import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PACKAGES = ['sdk', 'cli', 'server', 'conformance'];

/** What changed in each package, from its change log, and what the next release will change. */
export function changesPage(): string {
  const logs = PACKAGES.map((name) =>
    readFileSync(`${ROOT}packages/${name}/CHANGELOG.md`, 'utf8').replaceAll(/^#/gm, '##').trim(),
  );
  const waiting = globSync('.changeset/*.md', { cwd: ROOT })
    .toSorted()
    .map((file) => /^---\n(.*?)---\n+(.*)$/s.exec(readFileSync(`${ROOT}${file}`, 'utf8')) ?? [])
    .filter(([whole]) => whole !== undefined)
    .map(([, packages = '', text = '']) => {
      const names = [...packages.matchAll(/@shortlink\/(\w+)/g)].map(([name]) => `\`${name}\``);
      return `- ${names.join(', ')}: ${text.trim().replaceAll('\n', '\n  ')}`;
    });
  return `# Changes

What is new in each version. All packages share one version; while it begins with \`0.\`, a minor version may break, and a patch may not.

## In the next release

${waiting.length > 0 ? waiting.join('\n') : 'Nothing yet.'}

${logs.join('\n\n')}`;
}
