import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { workbook } from '../../tables/test/workbook-fixture.ts';
import type { CodeBlock } from './code-blocks.ts';
import { CLI_PROGRAM, SERVER_PROGRAM } from './programs.ts';
import { runCommand } from './run-command.ts';
import type { World } from './world.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** The sample data, and how many of its rows a page gets: the tests of the import have them all. */
const SAMPLE = 'examples/data/us-federal-sites.csv';
const SAMPLE_ROWS = 1_000;

/** What a page installs resolves there. */
const PACKAGES = fileURLToPath(new URL('../node_modules', import.meta.url));

/** The placeholders that pages use for a key, an address, and ids that commands print. */
const PLACEHOLDERS = (key: string, url: string): [RegExp, string][] => [
  [/YOUR_KEY/g, key],
  [/http:\/\/127\.0\.0\.1:8787|https:\/\/go\.example\.com(?=[/\s'")]|$)/gm, url],
  [/ACCOUNT_ID/g, '"$(last acc)"'],
  [/\bKEY_ID/g, '"$(last key)"'],
  [/\$\(last (\w+)\)""/g, '$(last $1)"'],
];

/** A block with a real key and address. */
export function filledIn(code: string, key: string, url: string): string {
  return PLACEHOLDERS(key, url).reduce(
    (text, [pattern, value]) => text.replace(pattern, value),
    code,
  );
}

/**
 * The shell script that precedes the commands of a page. `shortlink` and `shortlink-server` are the built programs; a server that a
 * page starts is stopped once it listens; what a page installs is installed already. `# exit code 3` ends a line that must exit with 3.
 */
const PRELUDE = `
set -Eeuo pipefail
trap 'echo "the command that failed: $BASH_COMMAND" >&2' ERR
node() { command "$NODE" "$@"; }
shortlink() { node "$CLI" "$@"; }
shortlink-server() { if [ "$1" = start ]; then serve "$@"; else node "$SERVER" "$@" | tee -a printed; fi; }
serve() {
  : > serving # Emptied before the server starts: what the one before has printed must not count.
  "$NODE" "$SERVER" "$@" --port 0 >> serving 2>&1 & local pid=$!
  until grep -q 'listening on' serving; do kill -0 $pid; sleep 0.1; done
  kill $pid; wait $pid
}
# npm init -y makes a CommonJS package.
npm() { if [ "$1" = init ]; then echo '{ "type": "commonjs" }' > package.json; fi; }
# Programs that a machine may lack. Their substitutes print an empty object.
for program in curl jq; do command -v $program > which || eval "$program() { echo '{}'; }"; done
npx() { if [[ "$*" =~ ^-y\\ pnpm@12\\ shortlink ]]; then shift 2; "$@"; fi; }
last() { grep -oE "$1_[A-Za-z0-9]+" printed | tail -1; }
ends_with() { local want=$1; shift; local got=0; "$@" || got=$?; [ "$got" = "$want" ]; }
`;

/** What a block shows of a workbook are the cells of its sheet. */
function contentOf(file: string, code: string, key: string, world: World): string | Buffer {
  if (!file.endsWith('.xlsx')) return filledIn(code, key, world.server.url);
  const rows = code.trim().split('\n');
  return workbook({ Links: rows.map((row) => row.split(',')) });
}

/** Writes the files that a page shows into a folder of its own and runs its commands there, one block after the other. */
export async function runPage(
  page: string,
  blocks: readonly CodeBlock[],
  { world, key }: { world: World; key: string },
): Promise<string> {
  const cwd = world.path(page.replaceAll(/\W/g, '-'));
  await mkdir(cwd);
  await symlink(PACKAGES, join(cwd, 'node_modules'));
  await writeFile(join(cwd, 'printed'), '');
  for (const { file, code } of blocks) {
    if (file !== undefined) await writeFile(join(cwd, file), contentOf(file, code, key, world));
  }
  // An import writes files beside its input, so it gets a copy of the sample data.
  await mkdir(join(cwd, dirname(SAMPLE)), { recursive: true });
  const sample = (await readFile(join(ROOT, SAMPLE), 'utf8')).split('\n');
  await writeFile(join(cwd, SAMPLE), `${sample.slice(0, SAMPLE_ROWS + 1).join('\n')}\n`);
  const commands = blocks
    .filter(({ language }) => language === 'sh')
    .map(({ code }) => filledIn(code, key, world.server.url))
    .join('\n')
    .replace(/^(.*) # exit code (\d+).*$/gm, 'ends_with $2 $1');
  return runCommand('bash', ['-c', `${PRELUDE}${commands}`], {
    cwd,
    env: {
      NODE: process.execPath,
      CLI: CLI_PROGRAM,
      SERVER: SERVER_PROGRAM,
      SHORTLINK_API_KEY: key,
      SHORTLINK_BASE_URL: world.server.url,
      XDG_CONFIG_HOME: join(cwd, 'config'),
    },
  });
}
