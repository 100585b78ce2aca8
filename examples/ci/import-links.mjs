// Creates the short links of a CSV file in a git repository and pushes what was filled in: node import-links.mjs links.csv
//
// The file is its own memory: rows that have a short_url are left alone, so no cache is needed. It needs SHORTLINK_API_KEY and
// SHORTLINK_BASE_URL, and a checkout of a branch that may be pushed. The exit code is that of the import.
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

const [file = 'links.csv'] = process.argv.slice(2);
const cli = (process.env.SHORTLINK ?? 'npx --yes @shortlink/cli').split(' ');
const temporary = mkdtempSync(join(tmpdir(), 'links-'));
const rejects = join(temporary, 'rejects.csv');

/** Runs a program whose messages go to the log, and returns its exit code and output. */
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

/** Fills in the file. The same rows under the same keys give the same links, should a run be repeated whose commit was lost. */
function importFile(known = []) {
  const journal = join(temporary, 'journal');
  const options = ['--in-place', '--idempotency', '--max-wait', '10m', '--json'];
  const files = ['--rejects', rejects, '--journal', journal];
  const { status, stdout } = run([...cli, 'import', file, ...options, ...files, ...known]);
  return { status, summary: stdout === '' ? undefined : JSON.parse(stdout) };
}

/** Commits what was filled in, also by a run that failed half-way. False where somebody else has pushed in the meantime. */
function push() {
  if (git('status', '--porcelain', '--', file) === '') return true;
  git('add', '--', file);
  git('commit', '--quiet', '-m', `Fill in the short links of ${file} [skip ci]`);
  return run(['git', 'push', '--quiet', 'origin', 'HEAD']).status === 0;
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

/** Rows without a link: those that can't be sent, and those that the service did not create. */
function problems() {
  const found = [];
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

/** GitHub reads such lines, and shows them at the line of the file. */
const escapeData = (text) => text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
const escapeProperty = (text) => escapeData(text).replace(/:/g, '%3A').replace(/,/g, '%2C');
const annotate = (line, text) =>
  console.log(`::error file=${escapeProperty(file)},line=${line}::${escapeData(text)}`);

function writeSummary({ status, summary }, found) {
  if (!process.env.GITHUB_STEP_SUMMARY) return;
  const {
    rows = 0,
    created = 0,
    existing = 0,
    rejected = 0,
    failed = 0,
    unknown = 0,
    unsent = 0,
  } = summary ?? {};
  const counts = { rows, existing, created, rejected, failed, unknown, unsent };
  const cell = (text) => String(text).replace(/[\\|]/g, '\\$&').replace(/\s+/g, ' ');
  const table = (header, lines) =>
    [header, header.map(() => '---'), ...lines].map(
      (cells) => `| ${cells.map(cell).join(' | ')} |`,
    );
  const text = [
    `### Short links of \`${file}\`: ${status === 0 ? 'all there' : `exit code ${status}`}`,
    '',
    ...table(Object.keys(counts), [Object.values(counts)]),
    ...(found.length > 0
      ? [
          '',
          ...table(
            ['line', 'problem'],
            found.slice(0, 50).map(({ line, reason }) => [line, reason]),
          ),
        ]
      : []),
    '',
  ];
  appendFileSync(process.env.GITHUB_STEP_SUMMARY, `${text.join('\n')}\n`);
}

let result = importFile();
let isPushed = push();
// Somebody else pushed: take that file, fill in the links that we have created, and create those of rows that are new in it.
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
for (const { stopped } of result.summary?.files ?? []) {
  if (stopped) console.log(`::error file=${escapeProperty(file)}::${escapeData(stopped.message)}`);
}
writeSummary(result, found);
rmSync(temporary, { recursive: true, force: true });
process.exitCode = isPushed ? (result.status ?? 1) : 1;
