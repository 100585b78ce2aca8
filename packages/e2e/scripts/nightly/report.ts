/**
 * After the parts of a night: `node packages/e2e/scripts/nightly/report.ts FOLDER PAGE`. Adds the night to the page that counts what was ever
 * played, and opens an issue for each part that failed, or comments on the one that is open, with `gh`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueOf, type PlayedPart, pageWith } from './played.ts';

const [folder = 'nightly', page = 'PLAYED.md'] = process.argv.slice(2);
const parts = globSync('**/*.json', { cwd: folder })
  .toSorted()
  .map((file): PlayedPart => JSON.parse(readFileSync(join(folder, file), 'utf8')));
writeFileSync(page, pageWith(existsSync(page) ? readFileSync(page, 'utf8') : '', parts));

const gh = (args: string[], input?: string) =>
  execFileSync('gh', args, { encoding: 'utf8', ...(input !== undefined && { input }) });
for (const part of parts.filter(({ failure }) => failure !== undefined)) {
  const { title, body } = issueOf(part);
  const open: { number: number; title: string }[] = JSON.parse(
    gh(['issue', 'list', '--state', 'open', '--limit', '200', '--json', 'number,title']),
  );
  const same = open.find((issue) => issue.title === title);
  if (same === undefined) gh(['issue', 'create', '--title', title, '--body-file', '-'], body);
  else gh(['issue', 'comment', String(same.number), '--body-file', '-'], body);
}
