import { styleText } from 'node:util';
import { terminalSafe } from './admin/output.ts';
import type { DatabaseSetting } from './setting-values.ts';
import type { StartedServer } from './start-server.ts';

// What a person who tries the server out sees on a terminal. Pipes get data and JSON instead.

type Env = Readonly<Record<string, string | undefined>>;
type Format = Parameters<typeof styleText>[0];
type Paint = (format: Format, text: string) => string;

/** Whether a terminal gets colours: NO_COLOR (https://no-color.org) and dumb terminals get none. */
export function wantsColors(env: Env): boolean {
  return (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

function painter(hasColors: boolean): Paint {
  return (format, text) => (hasColors ? styleText(format, text, { validateStream: false }) : text);
}

export interface ScreenOptions {
  version: string;
  database: DatabaseSetting;
  columns: number;
  hasColors: boolean;
}

/** The first screen of `start --dev`: where everything is, and two commands to try. */
export function devScreen(server: StartedServer, options: ScreenOptions): string {
  const paint = painter(options.hasColors);
  const facts: [name: string, value: string][] = [
    ['API', `${server.url}/api/v1`],
    ['API key', server.devKey ?? 'not shown again; create another one:'],
    ...(server.devKey === undefined
      ? [['', 'shortlink-server keys create --account <id>'] as [string, string]]
      : []),
    ['Usage page', `${server.url}/analytics`],
    ['Data', dataOf(options.database)],
  ];
  const width = Math.max(...facts.map(([name]) => name.length));
  const isNarrow = options.columns < width + 50;
  const lines = facts.map(([name, value]) =>
    isNarrow
      ? `${name === '' ? '' : `  ${paint('bold', name)}\n`}    ${terminalSafe(value)}`
      : `  ${paint('bold', name.padEnd(width))}  ${terminalSafe(value)}`,
  );
  const commands = [
    `npx @shortlink/cli auth login --base-url ${server.url}`,
    'npx @shortlink/cli create https://example.com/docs',
  ];
  return [
    paint('bold', `Shortlink server ${options.version} is running.`),
    '',
    ...lines,
    '',
    paint('bold', 'Try it in another terminal:'),
    ...commands.map(
      (command) =>
        `  $ ${command.replace(' --base-url', isNarrow ? ' \\\n      --base-url' : ' --base-url')}`,
    ),
    '',
    paint('dim', 'Requests are listed below. Ctrl-C stops the server.'),
    '',
  ].join('\n');
}

function dataOf(database: DatabaseSetting): string {
  if (database.engine === 'postgres') return 'PostgreSQL';
  return database.path === ':memory:' ? 'in memory, gone when the server stops' : database.path;
}

/** Fields of a log line that are shown in their own way, or not at all. */
interface LogLine {
  level: string;
  time: string;
  msg?: string;
  method?: string;
  path?: string;
  status?: number;
  ms?: number;
  request_id?: string;
  account_id?: string;
  key_id?: string;
  err?: { stack?: string; message?: string };
  [field: string]: unknown;
}

const LEVEL_FORMATS: Readonly<Record<string, Format>> = {
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
};

/** A line of the log for a person: `10:20:30  201  POST /api/v1/links  3 ms`. Texts in it may be anybody's. */
export function readableLogLine(json: string, hasColors: boolean): string {
  const paint = painter(hasColors);
  const line: LogLine = JSON.parse(json);
  const {
    level,
    time,
    msg = '',
    method,
    path,
    status,
    ms,
    request_id,
    account_id,
    key_id,
    err,
    ...rest
  } = line;
  const at = paint('dim', new Date(time).toTimeString().slice(0, 8));
  if (method !== undefined && path !== undefined && status !== undefined) {
    const shown = paint(formatOf(status), String(status));
    return `${at}  ${shown}  ${terminalSafe(`${method} ${path}`)}  ${paint('dim', `${ms} ms`)}\n`;
  }
  const format = LEVEL_FORMATS[level];
  const word = format === undefined ? '' : `${paint(format, level)}: `;
  const fields = Object.entries(rest).map(([name, value]) => `  ${name}=${String(value)}`);
  const stack = err === undefined ? '' : `\n${err.stack ?? err.message ?? ''}`;
  const details = stack.split('\n').map(terminalSafe).join('\n    ');
  return `${at}  ${word}${terminalSafe(msg + fields.join(''))}${details}\n`;
}

function formatOf(status: number): Format {
  if (status >= 500) return 'red';
  return status >= 400 ? 'yellow' : 'green';
}
