// The step of the action: creates the short links of a CSV file, and shows the rows that have none at their lines.
//
// The file is its own memory: rows that have a short_url are left alone, so no cache is needed. Everything it needs is in the
// environment, as action.yml sets it. The exit code is that of the import.
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { env } = process;
const file = env.INPUT_FILE;
const commits = env.INPUT_COMMIT === 'true';
const options = (env.INPUT_OPTIONS ?? '').split('\n').map((line) => line.trim());
const temporary = mkdtempSync(join(tmpdir(), 'links-'));
const rejects = join(temporary, 'rejects.csv');
/** The words that start the command: the package of the same version, unless the environment names another program, as a JSON array. */
const cli = env.SHORTLINK
  ? JSON.parse(env.SHORTLINK)
  : ['npx', '--yes', `@shortlink/cli@${version()}`];

function version() {
  const manifest = new URL('../cli/package.json', import.meta.url);
  return env.INPUT_VERSION || JSON.parse(readFileSync(manifest, 'utf8')).version;
}

/** Runs a program, copies its messages to the log, and returns its exit code and output. */
function run([program, ...args]) {
  const { status, stdout, error } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (error) throw error;
  return { status, stdout };
}

function git(...args) {
  const { status, stdout } = run(['git', ...args]);
  if (status !== 0) throw new Error(`git ${args[0]} failed`);
  return stdout.trim();
}

/** Fills in the file. With idempotency keys, a repeated run gets the links of an earlier run whose commit was lost. */
function importFile(known = []) {
  const journal = join(temporary, 'journal');
  const fixed = [
    '--in-place',
    '--idempotency',
    '--max-wait',
    env.INPUT_MAX_WAIT || '10m',
    '--json',
  ];
  const files = ['--rejects', rejects, '--journal', journal];
  const given = options.filter((line) => line !== '');
  const { status, stdout } = run([...cli, 'import', file, ...fixed, ...files, ...given, ...known]);
  return { status, summary: stdout === '' ? undefined : JSON.parse(stdout) };
}

/** Commits what was filled in, also after a run that failed half-way. Returns false where somebody else has pushed meanwhile. */
function push() {
  if (!commits) return true;
  if (git('status', '--porcelain', '--', file) === '') return true;
  git('add', '--', file);
  const message = `Fill in the short links of ${file} [skip ci]`;
  git(...author(), 'commit', '--quiet', '-m', message);
  return run(['git', 'push', '--quiet', 'origin', 'HEAD']).status === 0;
}

/** Sets an author of commits, which the runner lacks. A repository that has its own keeps it. */
function author() {
  if (run(['git', 'config', 'user.email']).status === 0) return [];
  const email = '41898282+github-actions[bot]@users.noreply.github.com';
  return ['-c', 'user.name=github-actions[bot]', '-c', `user.email=${email}`];
}

/** Rows of a CSV file, each with the number of its first line. */
function readCsv(path) {
  const rows = [];
  let row = { line: 1, cells: [''] };
  let line = 1;
  let quoted = false;
  for (const [part] of readFileSync(path, 'utf8')
    .replace(/^\uFEFF/, '')
    .matchAll(/""|"|,|\r?\n|[^",\r\n]+|\r/g)) {
    const last = row.cells.length - 1;
    if (part.endsWith('\n')) line += 1;
    if (part === '""' && quoted) row.cells[last] += '"';
    else if (part === '"') quoted = !quoted;
    else if (part === '""') continue;
    else if (quoted || !/^(?:,|\r?\n)$/.test(part)) row.cells[last] += part;
    else if (part === ',') row.cells.push('');
    else {
      rows.push(row);
      row = { line, cells: [''] };
    }
  }
  if (row.cells.length > 1 || row.cells[0] !== '') rows.push(row);
  return rows;
}

/** Rows without a link: invalid ones, and those that the service did not create. */
function problems() {
  const found = [];
  if (!existsSync(file)) return found;
  if (existsSync(rejects)) {
    const [header, ...rows] = readCsv(rejects);
    const [line, reason] = ['line', 'reason'].map((name) => header.cells.lastIndexOf(name));
    for (const { cells } of rows) found.push({ line: cells[line], reason: cells[reason] });
  }
  const [header = { cells: [] }, ...rows] = readCsv(file);
  const [status, error] = ['status', 'error'].map((name) => header.cells.lastIndexOf(name));
  for (const { line, cells } of rows) {
    if (['failed', 'unknown'].includes(cells[status])) found.push({ line, reason: cells[error] });
  }
  return found;
}

/** Prints an annotation, which GitHub shows at the line of the file. */
const escapeData = (text) => text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
const escapeProperty = (text) => escapeData(text).replace(/:/g, '%3A').replace(/,/g, '%2C');
const annotate = (line, text) =>
  console.log(`::error file=${escapeProperty(file)},line=${line}::${escapeData(text)}`);

/** Writes the summary for the page of the run, and the outputs for later steps. */
function report({ status, summary }, found) {
  const names = ['rows', 'existing', 'created', 'rejected', 'failed', 'unknown', 'unsent'];
  const counts = names.map((name) => summary?.[name] ?? 0);
  if (env.GITHUB_OUTPUT) {
    const outputs = names.map((name, index) => `${name}=${counts[index]}\n`);
    appendFileSync(env.GITHUB_OUTPUT, `exit-code=${status ?? 1}\n${outputs.join('')}`);
  }
  if (!env.GITHUB_STEP_SUMMARY) return;
  const row = (cells) => `| ${cells.map(cell).join(' | ')} |`;
  const table = (header, lines) => [header, header.map(() => '---'), ...lines].map(row);
  const text = [
    `### Short links of \`${file}\`: ${status === 0 ? 'all there' : `exit code ${status}`}`,
    '',
    ...table(names, [counts]),
  ];
  if (found.length > 0) {
    const shown = found.slice(0, 50).map(({ line, reason }) => [line, reason]);
    text.push('', ...table(['line', 'problem'], shown));
  }
  if (found.length > 50) text.push('', `${found.length - 50} more problems are in the log.`);
  appendFileSync(env.GITHUB_STEP_SUMMARY, `${text.join('\n')}\n\n`);
}

/** Escapes text for a cell of a Markdown table. */
function cell(text) {
  return String(text).replace(/[\\|]/g, '\\$&').replace(/\s+/g, ' ');
}

let result = importFile();
let isPushed = push();
// Somebody else has pushed: fill the links that we have created into their file, and create those of its new rows.
for (let attempts = 1; !isPushed && attempts <= 5; attempts += 1) {
  const known = join(temporary, `known-${attempts}.csv`);
  copyFileSync(file, known);
  git('fetch', '--quiet', 'origin');
  git('reset', '--quiet', '--hard', '@{upstream}');
  result = importFile(['--known', known]);
  isPushed = push();
}
const found = problems();
for (const { line, reason } of found) annotate(line, reason);
if (!isPushed) annotate(1, 'The links were created, but the file could not be pushed.');
const stops = (result.summary?.files ?? []).flatMap(({ stopped }) => stopped?.message ?? []);
if (result.summary === undefined) stops.push('shortlink import failed. The log says why.');
for (const text of stops) console.log(`::error file=${escapeProperty(file)}::${escapeData(text)}`);
report(result, found);
rmSync(temporary, { recursive: true, force: true });
process.exitCode = isPushed ? (result.status ?? 1) : 1;
