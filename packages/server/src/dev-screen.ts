import { styleText } from 'node:util';
import { parsedJson, terminalSafe } from './admin/output.ts';
import { type DatabaseSetting, databaseName } from './setting-values.ts';
import type { RunningServer } from './start-server.ts';

/** A command that works in any folder: it has the whole path of a database file. The address of a PostgreSQL server may hold a password, and is left out. */
export function newKeyCommand(accountId: string | undefined, database: DatabaseSetting): string {
  const url = database.engine === 'sqlite' ? `sqlite:${databaseName(database)}` : '';
  const word = /^[\w./:-]*$/.test(url) ? url : JSON.stringify(url);
  const where = url && ` --database ${terminalSafe(word)}`;
  return `shortlink-server keys create --account ${accountId}${where}`;
}

export function devScreen(
  { url, devKey, devAccountId }: RunningServer,
  { version, database }: { version: string; database: DatabaseSetting },
): string {
  const bold = (text: string) => styleText('bold', text);
  const anotherKey = `not shown again; create another one:
              ${newKeyCommand(devAccountId, database)}`;
  return `${bold(`Shortlink server ${version} is running.`)}

  ${bold('API')}         ${url}/api/v1
  ${bold('API key')}     ${devKey ?? anotherKey}
  ${bold('Usage page')}  ${url}/analytics
  ${bold('Data')}        ${terminalSafe(databaseName(database))}

${bold('Try it in another terminal:')}
  $ npx @shortlink/cli auth login --base-url ${url}
  $ npx @shortlink/cli create https://example.com/docs

${styleText('dim', 'Requests to the API are listed below. Ctrl-C stops the server.')}
`;
}

const LEVEL_FORMATS = { warn: 'yellow', error: 'red', fatal: 'red' } as const;

/** A line of the log for a person who looks at `stream`: `10:20:30  201  POST /api/v1/links  3 ms`. Texts in it may be anybody's. */
export function readableLogLine(json: string, stream: NodeJS.WritableStream): string {
  const line = json.startsWith('{"level":') ? parsedJson(json) : undefined;
  // The runtime of a worker writes what it warns of, or dies of, to the same stream, and may cut a line off.
  if (line === undefined) return `${terminalSafe(json.trimEnd())}\n`;
  const paint = (format: Parameters<typeof styleText>[0], text: string) =>
    styleText(format, text, { stream });
  // The ids of a request are left out: nobody looks for them on a screen.
  const { level, time, msg = '', method, path, status, ms, err, ...rest } = line;
  const { request_id, account_id, key_id, ...fields } = rest;
  const at = paint('dim', new Date(time).toTimeString().slice(0, 8));
  if (method !== undefined && path !== undefined && status !== undefined) {
    const color = status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green';
    const request = terminalSafe(`${method} ${path}`);
    return `${at}  ${paint(color, String(status))}  ${request}  ${paint('dim', `${ms} ms`)}\n`;
  }
  const color = LEVEL_FORMATS[level as keyof typeof LEVEL_FORMATS];
  const word = color === undefined ? '' : `${paint(color, level)}: `;
  const shown = Object.entries(fields).map(([name, value]) => `  ${name}=${String(value)}`);
  const stack = err === undefined ? '' : `\n${err.stack ?? err.message ?? ''}`;
  const details = stack.split('\n').map(terminalSafe).join('\n    ');
  return `${at}  ${word}${terminalSafe(msg + shown.join(''))}${details}\n`;
}
