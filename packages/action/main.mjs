// The action: runs the script that plans or creates the short links of a file, and shows what came of it. The guide "In CI" describes it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { comment, openPullRequest } from './github.mjs';
import { COUNTS, report, setOutputs } from './report.mjs';

const { env } = process;
const input = (name) => (env[`INPUT_${name.toUpperCase()}`] ?? '').trim();
const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const file = input('file');
const target = input('output') || file;
const isProposal = /^(?:pull_request|merge_group)/.test(env.GITHUB_EVENT_NAME);
const mode = input('mode') || (isProposal ? 'plan' : 'apply');
const folder = mkdtempSync(join(env.RUNNER_TEMP || tmpdir(), 'shortlink-'));
const read = (name) =>
  existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8').trim() : '';

/** Runs the script with this Node and the program that the release has put beside this file. Its log can't give commands to the runner. */
async function runScript() {
  const options = input('options')
    .split(/\s*\n\s*/)
    .filter(Boolean);
  const args = [mode, file, '--max-wait', input('max-wait') || '10m', ...options];
  if (mode === 'plan' && input('expect-no-changes') === 'true') args.push('--expect-no-changes');
  // On Windows, git has the only shell that is sure to be there. No command of git has the name of the alias, or it would run in its place.
  const isWindows = process.platform === 'win32';
  const [shell, ...before] = isWindows ? ['git', '-c', 'alias.run-links=!sh', 'run-links'] : ['sh'];
  const words = [...before, path('../../examples/ci/links.sh'), ...args];
  const resume = randomUUID();
  console.log(`::stop-commands::${resume}`);
  const child = spawn(shell, words, {
    env: {
      SHORTLINK_PROGRAM: path('shortlink.mjs'),
      SHORTLINK_NODE: process.execPath,
      ...env,
      SHORTLINK_API_KEY: input('api-key') || env.SHORTLINK_API_KEY,
      SHORTLINK_BASE_URL: input('base-url') || env.SHORTLINK_BASE_URL,
      LINKS_BASE: mode === 'plan' ? (env.GITHUB_BASE_REF ?? '') : '',
      LINKS_OUTPUT: input('output'),
      LINKS_BRANCH: input('branch'),
      LINKS_COMMIT: input('commit'),
      LINKS_FOLDER: folder,
    },
    stdio: ['ignore', 1, 1],
    detached: !isWindows,
  });
  // A job that is cancelled: the shell and all below it end what is in flight.
  const forward = (signal) => process.kill(isWindows ? child.pid : -child.pid, signal);
  const signals = ['SIGINT', 'SIGTERM'];
  for (const signal of signals) process.on(signal, forward);
  const status = await new Promise((resolve) => {
    child.on('error', () => resolve(1)).on('close', resolve);
  });
  for (const signal of signals) process.off(signal, forward);
  // A hook of git may have left its line open.
  console.log(`\n::${resume}::`);
  return status ?? 1;
}

/** The last summary, with what the imports before it have created: there are several where others pushed meanwhile. */
function readSummary() {
  const names = readdirSync(folder).filter((name) => name.startsWith('summary-'));
  const summaries = names
    .sort()
    .map(read)
    .filter(Boolean)
    .map((text) => JSON.parse(text));
  const last = summaries.pop();
  for (const { created, new_rows } of summaries) {
    last.created += created;
    last.new += created;
    last.existing = Math.max(0, last.existing - created);
    last.new_rows.push(...new_rows.filter(({ short_url }) => short_url !== null));
  }
  return last;
}

const status = await runScript();
const summary = readSummary();
const counts = COUNTS.map((name) => [name, summary?.[name] ?? 0]);
setOutputs({ 'exit-code': status, folder, ...Object.fromEntries(counts) });
const text = report({ file, mode, status, summary, lost: read('lost') });
process.exitCode = status;
if (mode === 'plan' && isProposal && input('comment') === 'true') await comment(target, text);
const [base, branch] = read('pushed').split('\n');
if (branch !== undefined && branch !== base) {
  const title = `Fill in the short links of ${target}`;
  const isOpen = await openPullRequest({ base, branch }, title, text);
  process.exitCode = isOpen ? status : status || 1;
}
