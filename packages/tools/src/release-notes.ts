// Prints what is new in a version, for the release on GitHub: node packages/tools/src/release-notes.ts 1.2.3
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PUBLISHED, ROOT, readManifest } from './manifests.ts';

/**
 * What the change log of each package says of a version. A package without a section is left out: the packages share their version,
 * and not every version changes each of them.
 *
 * @throws Error when no package says anything, so that no release goes out without notes
 */
export async function releaseNotes(version: string, root = ROOT): Promise<string> {
  const notes: string[] = [];
  for (const folder of PUBLISHED) {
    const { name } = await readManifest(folder, root);
    const section = sectionOf(version, await readFile(join(root, folder, 'CHANGELOG.md'), 'utf8'));
    if (section !== '') notes.push(`## ${name}\n\n${section}\n`);
  }
  if (notes.length === 0) throw new Error(`No change log has anything about ${version}.`);
  return notes.join('\n');
}

/** The text below the heading of the version, up to the next version. */
function sectionOf(version: string, changeLog: string): string {
  const [, ...sections] = changeLog.split(/^## /m);
  const found = sections.find((section) => section.split('\n', 1)[0]?.trim() === version);
  return found?.slice(found.indexOf('\n')).trim() ?? '';
}

if (import.meta.main) console.log(await releaseNotes(process.argv[2] ?? ''));
