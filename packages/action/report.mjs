// What people see of a run: annotations at the lines of the file, and its page. It is all in the summary of `shortlink import`.
import { appendFileSync } from 'node:fs';

const { env } = process;

export const COUNTS = [
  ...['rows', 'new', 'existing', 'changed', 'created'],
  ...['rejected', 'failed', 'unknown', 'unsent'],
];
/** Rows in the table, and their characters: GitHub takes a comment of 65,536. */
const MOST_ROWS = 50;
const MOST_CHARACTERS = 50_000;
/** Rows in each list of the summary of a file. */
const MOST_LISTED = 1_000;

/** Exit code where a plan with expect-no-changes finds something to create. */
const UNEXPECTED = 8;
/** Exit codes of a program that a signal has ended, as shells count. */
const KILLED = 128;
const NO_BEGIN = 'The import could not begin. The log says why.';
const WAS_KILLED =
  'The import was killed: the job was cancelled, or has too little memory. Run it again: what was created until then is not created again.';

const append = (path, text) => path && appendFileSync(path, text);
export const setOutputs = (values) => {
  for (const [name, value] of Object.entries(values)) {
    append(env.GITHUB_OUTPUT, `${name}=${value}\n`);
  }
};

const escapeData = (text) => text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
const escapeProperty = (text) => escapeData(String(text)).replace(/:/g, '%3A').replace(/,/g, '%2C');

/** Prints an annotation, which GitHub shows at the line of the file. */
export function annotate(level, place, text) {
  const words = Object.entries(place).map(([name, value]) => `${name}=${escapeProperty(value)}`);
  console.log(`::${level} ${words.join(',')}::${escapeData(text)}`);
}

/** Text of a file or a service as it is: no Markdown, no HTML, and nobody is mentioned. */
const code = (text) => {
  const safe = String(text).replace(/[^\p{L}\p{N} .,:;/?=%()'+-]/gu, (sign) =>
    /\s/.test(sign) ? ' ' : `&#${sign.codePointAt(0)};`,
  );
  return `<code>${safe}</code>`;
};
const table = (header, rows) =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);

function headingOf({ mode, status, lost, summary }) {
  if (lost) return 'not kept';
  if (status !== 0 || summary === undefined) return `exit code ${status}`;
  // After --limit, all is well although rows are left.
  if (mode === 'apply') return summary.unsent > 0 ? `${summary.unsent} unsent` : 'all there';
  return summary.new === 0 ? 'nothing to create' : `${summary.new} to create`;
}

/** Annotates what is wrong, and writes the page of the run. Returns the page, as Markdown. */
export function report({ file, mode, status, summary, lost }) {
  const { files = [], problems = [], changed_rows = [], new_rows = [] } = summary ?? {};
  for (const { line, reason } of problems) annotate('error', { file, line }, reason);
  const stops = files.flatMap(({ stopped }) => (stopped ? [stopped.message] : []));
  if (lost) stops.push(lost);
  else if (status === UNEXPECTED) stops.push(`No new row was expected. New rows: ${summary?.new}.`);
  else if (summary === undefined) stops.push(status < KILLED ? NO_BEGIN : WAS_KILLED);
  for (const text of stops) annotate('error', { file }, text);
  const notes = files.flatMap(({ warnings, forecast }) => [...warnings, ...forecastOf(forecast)]);
  const rows = [
    ...problems.map(({ line, status: is, reason }) => [line, is, code(reason)]),
    ...new_rows.map(({ line, target_url, short_url }) =>
      short_url === null
        ? [line, 'new', code(target_url)]
        : [line, 'created', `${code(short_url)} for ${code(target_url)}`],
    ),
    ...changed_rows.map(({ line, short_url }) => [line, 'changed', `${code(short_url)} stays`]),
  ];
  const shown = rows
    .slice(0, MOST_ROWS)
    .filter((_, index, all) => String(all.slice(0, index + 1)).length < MOST_CHARACTERS);
  const more = rows.length - shown.length;
  const isCut = [problems, new_rows, changed_rows].some(({ length }) => length >= MOST_LISTED);
  const where = isCut
    ? `At least ${more} more rows. The summary of the output "folder" names the first 1,000 that are bad, new or changed.`
    : `${more} more rows are in the summary of the output "folder".`;
  const heading = headingOf({ mode, status, lost, summary });
  const text = [
    `### ${mode === 'plan' ? 'Plan for' : 'Short links of'} ${code(file)}: ${heading}\n`,
    ...table(COUNTS, [COUNTS.map((name) => summary?.[name] ?? 0)]),
    '',
    ...[...stops, ...notes].map((note) => `- ${code(note)}`),
    '',
    ...(rows.length > 0 ? table(['line', 'row', ''], shown) : []),
    ...(more > 0 ? [`\n${where}`] : []),
    '',
  ].join('\n');
  append(env.GITHUB_STEP_SUMMARY, `${text}\n`);
  return text;
}

/** What sending takes, and what the plan of the account has room for. */
function forecastOf(forecast) {
  if (!forecast) return [];
  const { links, requests, duration_ms, room, plan, unsent } = forecast;
  const parts = [
    `links: ${links}`,
    `requests: ${requests}`,
    ...(duration_ms >= 60_000 ? [`about ${Math.ceil(duration_ms / 60_000)} min`] : []),
    ...(room === null ? [] : [`room for ${room} in the ${plan} plan`]),
    ...(unsent > 0 ? [`${unsent} unsent`] : []),
  ];
  return [`Forecast: ${parts.join(', ')}`];
}
