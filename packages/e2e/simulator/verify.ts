import { basename, dirname, join } from 'node:path';
import { SHORT } from '../../sdk/test/scripted-service/scripted-service.ts';
import type { Service } from '../../sdk/test/scripted-service/service.ts';
import { ioOf } from './command.ts';
import type { Random } from './kernel/random.ts';
import type { Ended, Programs } from './program.ts';
import { OTHERS_LINK, parseResults, parseTable } from './scenario/file-text.ts';
import type { ResultRow } from './scenario/files.ts';
import type { CommandTraits, UserTraits } from './scenario/scenario.ts';
import { Process, type World } from './world/world.ts';

interface Surroundings {
  programs: Programs;
  world: World;
  service: Service;
  user: UserTraits;
  how: CommandTraits;
  apiKey: string;
  random: Random;
}

/**
 * Lets the user verify results with the real command, as they are, and now and then with a short URL retyped. It has to find out of each
 * row what the service knows of its link.
 *
 * @param path - of the results, in a file that is whole
 */
export async function verifyResults(path: string, around: Surroundings): Promise<void> {
  const { world, random } = around;
  const text = world.disk.get(path)?.bytes.toString() ?? '';
  const rows = parseResults(text) ?? [];
  const created = rows.filter(({ status }) => status === 'created');
  // Without a link of ours, lines that name links of another service are an export of that one.
  if (created.length === 0 && text.includes(OTHERS_LINK)) return;
  await verify(path, rows, around);
  if (created.length === 0 || random.chance(0.5)) return;
  const { short_url: right } = random.pick(created);
  const wrong = right.replace(/.$/, (letter) => (letter === 'k' ? 'm' : 'k'));
  const edited = text.replaceAll(new RegExp(`${right.replaceAll('.', '\\.')}(?!\\w)`, 'g'), wrong);
  const copy = join(dirname(path), `retyped-${basename(path)}`);
  world.disk.place(copy, edited, world.scheduler.now);
  const asEdited = rows.map((row) =>
    row.short_url === right ? { ...row, short_url: wrong } : row,
  );
  await verify(copy, asEdited, around);
  world.disk.remove(copy);
  world.disk.remove(reportOf(copy));
}

const reportOf = (path: string) => `${path}.verify.csv`;

/** Where JSON Lines are written. */
const LINES = '/tmp/report.jsonl';

async function verify(path: string, rows: readonly ResultRow[], around: Surroundings) {
  const { programs, world, how, apiKey, random } = around;
  const { scheduler, disk } = world;
  const process = new Process(`verify ${path}`);
  const printed = { stdout: '', stderr: '', exitCode: undefined as number | undefined };
  const ended: Ended = { process, summary: undefined, error: undefined, events: [], ...printed };
  const { io, interrupt } = ioOf(world, { baseUrl: BASE, apiKey }, how, ended);
  const report = random.chance(0.5) ? LINES : reportOf(path);
  const argv = [
    ...['verify', path, '--allow-private', '--base-url', BASE, '--max-retries', '3'],
    ...(how.isJson ? ['--json'] : []),
    ...(how.isQuiet ? ['--quiet'] : []),
    ...(random.chance(0.3) ? ['--targets'] : []),
    ...(random.chance(0.3) ? ['--rpm', '600'] : []),
    ...(random.chance(0.3) ? ['--concurrency', '1'] : []),
    ...(report === LINES ? ['-o', report] : []),
  ];
  const { fetch } = world;
  world.fetch = fetchFor(around, process);
  let isDone = false;
  scheduler.after(0, process, () => {
    programs.runCommand(argv, io).then((exitCode) => {
      ended.exitCode = exitCode;
      isDone = true;
    });
  });
  const stopsAfterMs = random.chance(0.1) ? random.below(2_000) : undefined;
  if (stopsAfterMs !== undefined) scheduler.after(stopsAfterMs, process, interrupt);
  await scheduler.drive(() => isDone || !process.isAlive);
  world.fetch = fetch;
  world.log(() => `shortlink ${argv.join(' ')} ends with ${ended.exitCode}: ${ended.stderr}`);
  if (!process.isAlive) return;
  world.exit(process);
  const text = disk.get(report)?.bytes.toString() ?? '';
  if (report === LINES) disk.remove(LINES);
  checkVerified(
    rows,
    report === LINES ? findingsOfLines(text) : findingsOfTable(text),
    ended,
    around,
  );
}

const BASE = 'https://api.example';

/** What the network gives to a request: a failure that passes, the redirect of a short URL, or a page that wants its cookie back. */
function fetchFor({ service, world, random }: Surroundings, process: Process): World['fetch'] {
  const { scheduler } = world;
  /** Addresses that were asked, and whether such a page wants its cookie back. */
  const asked = new Map<string, boolean>();
  const respond = (status: number, headers: Record<string, string> = {}) => ({
    status,
    headers: new Headers(headers),
    body: null,
  });
  const responseTo = (url: string, cookie: string | undefined) => {
    const fault = asked.has(url) ? undefined : random.below(12);
    const wantsCookie = asked.get(url) ?? random.chance(0.3);
    asked.set(url, wantsCookie);
    if (fault === 0) return respond(503);
    if (fault === 1) return respond(429, { 'Retry-After': `${1 + random.below(9)}` });
    if (fault === 2) return undefined;
    if (url.startsWith(SHORT)) {
      const link = service.made.find(({ code }) => SHORT + code === url);
      return link ? respond(302, { Location: new URL(link.target).href }) : respond(404);
    }
    return wantsCookie && cookie === undefined
      ? respond(302, { Location: url, 'Set-Cookie': 'seen=1; Path=/' })
      : respond(200);
  };
  return (given, { headers, signal }) =>
    new Promise((resolve, reject) => {
      const response = responseTo(String(given), headers['Cookie']);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      scheduler.after(random.below(200), process, () => {
        const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
        if (response === undefined) reject(new TypeError('fetch failed', { cause }));
        else resolve(response);
      });
    });
}

function findingsOfLines(text: string): readonly string[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { verified: string }).verified);
}

function findingsOfTable(text: string): readonly string[] {
  const [header = [], ...lines] = text === '' ? [] : parseTable(text);
  const column = header.indexOf('verified');
  return lines.map((cells) => cells[column] ?? '');
}

function checkVerified(
  rows: readonly ResultRow[],
  found: readonly string[],
  { exitCode, stdout, stderr }: Ended,
  { service, how }: Surroundings,
): void {
  const targets = new Map(service.made.map(({ code, target }) => [SHORT + code, target]));
  const expected = rows.map(({ status, short_url, target }) => {
    if (status !== 'created') return 'skipped';
    const leadsTo = targets.get(short_url);
    if (leadsTo === undefined) return 'not_found';
    return new URL(leadsTo).href === new URL(target).href ? 'ok' : 'wrong_target';
  });
  const said = `${exitCode} ${JSON.stringify(found)} for ${JSON.stringify(expected)}: ${stdout}${stderr}`;
  if (!rows.some(({ status }) => status === 'created')) {
    if (exitCode !== 2 || found.length > 0) throw new Error(`nothing to verify ends with ${said}`);
    return;
  }
  const isStopped = exitCode === 130;
  const isSame = expected.every((finding, index) => {
    const is = found[index];
    return is === finding || (isStopped && is === 'not_asked');
  });
  // A line that can't be read may have a link.
  const isRight = found.every((finding) => ['ok', 'skipped'].includes(finding));
  if (found.length !== rows.length || !isSame) throw new Error(`verify finds ${said}`);
  if (!isStopped && exitCode !== (isRight ? 0 : 3)) throw new Error(`verify ends with ${said}`);
  if (/sk_simulated|This is a bug|undefined|NaN|\[object/.test(stdout + stderr))
    throw new Error(`verify prints ${said}`);
  if (how.isJson) for (const line of stderr.split('\n').slice(0, -1)) JSON.parse(line);
}
