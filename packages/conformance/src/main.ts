#!/usr/bin/env node
import { readFile, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { parseArgs } from 'node:util';
import {
  type ConformanceOptions,
  type ConformanceReport,
  htmlReport,
  junitReport,
  PROTOCOL_VERSION,
  runConformance,
  textReport,
} from './index.ts';
import { jsonReport } from './reports/text.ts';
import { isPlanName, PLAN_NAMES } from './session.ts';

const HELP = `Usage: npx @shortlink/conformance --base-url URL --api-key KEY [options]

Says of a short-link service, statement by statement, whether it keeps the protocol.
The links that it creates stay in the account: use an account for tests.

  --base-url URL         address of the service, or SHORTLINK_BASE_URL
  --api-key KEY          a key that may create links, or SHORTLINK_API_KEY
  --plan PLAN            community, pro, avance or custom, where the service has no usage to ask
  --budget-links N       links to create at most (Community: 15, else 220)
  --budget-requests N    requests to send at most (Community: 90, else 300)
  --read-key KEY         a key without shortlinks:write, to see that it is refused
  --domain-id ID         a custom domain of the account; twice to see that one overrides the other
  --core                 leave out what only the reference server adds
  --expected FILE        ids of statements that are known to fail, one a line; # begins a comment
  --junit FILE           write the report for CI
  --html FILE            write the report as a page, with every exchange
  --json                 print the report as JSON
  --max-wait SECONDS     longest wait that a 429 may ask for (90)
  --timeout SECONDS      time limit of a request (30)
  --version, --help

Exit codes: 0 every statement holds, was expected to fail or could not be shown;
1 a statement fails, or one that was expected to fail holds; 2 wrong use, or the service can't be checked.
`;

const OPTIONS = {
  'base-url': { type: 'string' },
  'api-key': { type: 'string' },
  plan: { type: 'string' },
  'budget-links': { type: 'string' },
  'budget-requests': { type: 'string' },
  'read-key': { type: 'string' },
  'domain-id': { type: 'string', multiple: true },
  core: { type: 'boolean' },
  expected: { type: 'string' },
  junit: { type: 'string' },
  html: { type: 'string' },
  json: { type: 'boolean' },
  'max-wait': { type: 'string' },
  timeout: { type: 'string' },
  version: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

type Flags = ReturnType<typeof parse>;

const parse = (args: string[]) => parseArgs({ args, options: OPTIONS }).values;

/** What the command line asks for. Throws one sentence for what it can't understand. */
async function readOptions(flags: Flags): Promise<ConformanceOptions> {
  const { SHORTLINK_BASE_URL, SHORTLINK_API_KEY } = process.env;
  const baseUrl = flags['base-url'] ?? SHORTLINK_BASE_URL;
  // A key from a file or a store of secrets often comes with the end of its line.
  const apiKey = (flags['api-key'] ?? SHORTLINK_API_KEY)?.trim();
  if (!baseUrl)
    throw new Error('Give the address of the service: --base-url or SHORTLINK_BASE_URL.');
  if (!apiKey) throw new Error('Give a key of the service: --api-key or SHORTLINK_API_KEY.');
  const { plan } = flags;
  if (plan !== undefined && !isPlanName(plan)) {
    throw new Error(`--plan: "${plan}" is none of ${PLAN_NAMES.join(', ')}.`);
  }
  const seconds = (name: 'max-wait' | 'timeout') => {
    const value = wholeNumber(flags, name);
    return value === undefined ? undefined : value * 1_000;
  };
  return {
    baseUrl,
    apiKey,
    plan,
    budgetLinks: wholeNumber(flags, 'budget-links'),
    budgetRequests: wholeNumber(flags, 'budget-requests'),
    readKey: flags['read-key']?.trim(),
    domainIds: flags['domain-id'],
    isCoreOnly: flags.core,
    maxWaitMs: seconds('max-wait'),
    timeoutMs: seconds('timeout'),
    expected: flags.expected === undefined ? [] : await readIds(flags.expected),
  };
}

function wholeNumber(
  flags: Flags,
  name: 'budget-links' | 'budget-requests' | 'max-wait' | 'timeout',
) {
  const text = flags[name];
  if (text === undefined) return undefined;
  if (!/^\d{1,7}$/.test(text)) throw new Error(`--${name}: "${text}" is no whole number.`);
  return Number(text);
}

async function readIds(file: string): Promise<string[]> {
  const bytes = await readFile(file);
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  const lines = new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8').decode(bytes).split('\n');
  return lines.map((line) => line.replace(/#.*/, '').trim()).filter((id) => id !== '');
}

/** Returns the exit code. */
async function main(args: string[]): Promise<number> {
  const flags = parse(args);
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (flags.version) {
    process.stdout.write(`protocol ${PROTOCOL_VERSION}\n`);
    return 0;
  }
  const report = await checkOrSayWhyNot(flags);
  await print(flags.json ? `${jsonReport(report)}\n` : textReport(report));
  await writeReports(flags, report);
  return report.isPassed ? 0 : 1;
}

async function checkOrSayWhyNot(flags: Flags): Promise<ConformanceReport> {
  try {
    // A run takes minutes. A report that can't be written is said before it, and one of a run that is interrupted says so.
    await writeReports(flags, notChecked('The run did not end.'));
    return await check(await readOptions(flags));
  } catch (error) {
    const report = notChecked((error as Error).message);
    if (flags.json) await print(`${jsonReport(report)}\n`);
    await writeReports(flags, report).catch(() => undefined);
    throw error;
  }
}

/** Writes to standard output. A reader that has read enough, such as `head`, is no error; a full disk is one. */
function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.once('error', () => undefined);
    process.stdout.write(text, (error) => {
      if (error && 'code' in error && error.code !== 'EPIPE') reject(error);
      else resolve();
    });
  });
}

async function check(options: ConformanceOptions): Promise<ConformanceReport> {
  let checked = 0;
  const onVerdict = () => {
    checked += 1;
    if (process.stderr.isTTY) process.stderr.write(`\r${checked} statements checked`);
  };
  const report = await runConformance({ ...options, onVerdict });
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  return report;
}

/** A report of what ended the run, so that none of an earlier run stands for it. */
function notChecked(reason: string): ConformanceReport {
  const statement = { id: 'run', section: 'The run', text: 'The service can be checked.' };
  return {
    ...{ protocolVersion: PROTOCOL_VERSION, baseUrl: 'no service', plan: undefined, stale: [] },
    verdicts: [{ ...statement, result: 'fails', reason, exchanges: [], isExpected: false }],
    ...{ requestsSent: 0, linksCreated: 0, isPassed: false },
  };
}

async function writeReports({ junit, html }: Flags, report: ConformanceReport): Promise<void> {
  if (junit !== undefined) await writeFile(junit, junitReport(report));
  if (html !== undefined) await writeFile(html, htmlReport(report));
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}
