import { DELIMITER, ENCODING, INPUT_FORMATS, LINK_FIELDS } from '@shortlink/tables/basics';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ImportSettings, ON_SIMILAR, ON_UNKNOWN, OUTPUT_FORMATS } from '../../import/types.ts';
import {
  collect,
  type LinkOptions,
  MAX_BATCH_LINKS,
  parseCount,
  parseCountOr,
  parseDuration,
  parseNameOf,
  parseText,
  redirectTypeOption,
} from '../declare.ts';

/** Batches in flight are in memory. */
const MAX_CONCURRENCY = 64;

/** Settings that are options, and have a default where they are not given. */
type Usual = 'map' | 'output' | 'outputFormat' | 'rejects';

/** Settings that follow from the file or from other options. */
type Derived =
  | ('file' | 'others' | 'usualNames' | 'journal' | 'baseUrl' | 'listsRows')
  | ('defaults' | 'addTags' | 'requestsPerMinute');

/** Options of `shortlink import` as commander hands them over. */
export interface ImportOptions
  extends Omit<ImportSettings, Usual | Derived>,
    Partial<Pick<ImportSettings, Usual>>,
    LinkOptions {
  addTag?: string[];
  rpm?: number;
  maxWait: number;
  journal?: string;
  stateDir?: string;
  summary?: string;
  expectNoChanges?: boolean;
}

export function addImportOptions(command: Command): void {
  const groups = { Input: INPUT, Links: LINKS, Output: OUTPUT, Sending: SENDING, Safety: SAFETY };
  for (const [name, declare] of Object.entries(groups)) {
    command.optionsGroup(`${name}:`);
    for (const option of declare()) command.addOption(option);
  }
}

interface Details {
  choices?: readonly string[];
  parse?(value: string, previous: unknown): unknown;
  fallback?: unknown;
  /** The default as the help prints it. */
  shown?: string;
}

function option(flags: string, description: string, details: Details = {}): Option {
  const { choices, parse, fallback, shown } = details;
  const made = new Option(flags, description);
  if (choices !== undefined) made.choices(choices);
  if (parse !== undefined) made.argParser(parse);
  return made.default(fallback, shown);
}

export const tableOptions = (map: string, fields: readonly string[]) => [
  option('--map <field=column>', `${map}; may be given several times`, {
    parse: mapParser(fields),
  }),
  option('--input-format <format>', 'format of the input', {
    choices: INPUT_FORMATS,
    fallback: 'auto',
  }),
  option(
    '--delimiter <character>',
    'between cells, such as ";" or tab (default: found by looking)',
    { parse: parseAs(DELIMITER) },
  ),
  option('--tag-separator <text>', 'between tags in a cell (default: any of , ; |)', {
    parse: parseTagSeparator,
  }),
  option('--encoding <name>', 'such as windows-1252 (default: UTF-8, or UTF-16 by its BOM)', {
    parse: parseAs(ENCODING),
  }),
  option('--sheet <name>', 'sheet of an .xlsx workbook (default: the visible one that has links)'),
  option('--skip-lines <n>', 'lines above the header that are left out', {
    parse: parseCount(0, 1_000_000),
  }),
];

const INPUT = () =>
  tableOptions(
    `fill a field (${LINK_FIELDS.join(', ')}) from a column; title= leaves a field out`,
    LINK_FIELDS,
  );

const LINKS = () => [
  option('--tag <tag>', 'tag of rows that have none; may be given several times', {
    parse: collect,
  }),
  option('--add-tag <tag>', 'tag of every row, besides its own; may be given several times', {
    parse: collect,
  }),
  option('--domain <id>', 'custom domain of rows that name none', { parse: parseText }),
  redirectTypeOption('redirect type of rows that name none'),
];

const OUTPUT = () => [
  option(
    '-o, --output <file>',
    'results; - is stdout (default: <input>.results.csv, of a workbook .results.xlsx, stdout if the input is -)',
  ),
  option(
    '--in-place',
    'write code, short_url, status, error and made_for into the input itself, as columns',
    { fallback: false },
  ),
  option('--output-format <format>', 'format of the results', {
    choices: OUTPUT_FORMATS,
    shown: 'by the name of the output, else csv, or xlsx for a workbook',
  }),
  option('--rejects <file>', "rows that can't be sent (default: <input>.rejects.csv)", {
    parse: parseNameOf('Rejects are CSV', /\.(?:xlsx|jsonl?|ndjson)$/i),
  }),
  option(
    '--known <file>',
    'results of an earlier import: its links are not created again; may be given several times',
    { parse: collect },
  ),
  option(
    '--summary <file>',
    'how it ended as JSON: counts, forecast, and rows that are new, changed or bad',
  ),
];

const SENDING = () => [
  option('--batch-size <n>', 'links in a request, or auto', {
    parse: parseCountOr('auto', 1, MAX_BATCH_LINKS),
    fallback: 'auto',
  }),
  option('--concurrency <n>', 'batches in flight at once', {
    parse: parseCount(1, MAX_CONCURRENCY),
    fallback: 4,
  }),
  option('--rpm <n>', 'requests per minute at most (default: the limit that the service reports)', {
    parse: parseCount(1, 1_000_000),
  }),
  option(
    '--max-wait <duration>',
    'longest wait for a rate limit; 26h waits for a new day of a daily quota',
    { parse: parseDuration, fallback: 90_000, shown: '90s' },
  ),
  option(
    '--limit <n>',
    'links to create at most in this run; the exit code is 0 although rows are left',
    { parse: parseCount(1, Number.MAX_SAFE_INTEGER) },
  ),
  option(
    '--idempotency',
    'send an Idempotency-Key, so that a batch without a response can be sent again safely (default: where the service lists it)',
  ),
  option('--no-idempotency', 'send none'),
  option(
    '--on-similar <action>',
    'what to do with rows whose target has a link that could be theirs, or another one (on a terminal: asks)',
    { choices: ON_SIMILAR, shown: 'stop' },
  ),
  option(
    '--on-unknown <action>',
    "what to do with links that may have been created in a request without a response, where the service can't be asked",
    { choices: ON_UNKNOWN, fallback: 'stop' },
  ),
];

const SAFETY = () => [
  option(
    '--dry-run',
    'check the file, compare it with what exists, and forecast; create and write nothing',
    { fallback: false },
  ),
  option(
    '--expect-no-changes',
    'a dry run that ends with exit code 8 where the file asks for a new link',
  ).implies({ dryRun: true }),
  option(
    '--max-rejects <n>',
    'send nothing if more rows than this are invalid; all sends in any case',
    { parse: parseCountOr('all', 0, Number.MAX_SAFE_INTEGER), fallback: 0 },
  ),
  option('--journal <file>', 'record of the links that exist (default: <input>.shortlink-journal)'),
  option('--state-dir <folder>', 'folder for journal, results and rejects'),
  option('--restart', 'create every row again; the journal is kept as <journal>.old'),
];

/** Parses `field=column`, once for each of `fields`. */
function mapParser<F extends string>(fields: readonly F[]) {
  return (value: string, previous: unknown): Partial<Record<F, string>> => {
    const known = (previous ?? {}) as Partial<Record<F, string>>;
    const at = value.indexOf('=');
    const name = value.slice(0, Math.max(at, 0)).trim();
    const column = value.slice(at + 1).trim();
    const field = fields.find((each) => each === name);
    if (at < 0) throw new InvalidArgumentError('A mapping looks like target_url="Long URL".');
    if (field === undefined) {
      throw new InvalidArgumentError(`There is no field ${name}. Fields: ${fields.join(', ')}.`);
    }
    if (column === '' && field === 'target_url') {
      throw new InvalidArgumentError("The target URL can't be left out.");
    }
    if (known[field] !== undefined) throw new InvalidArgumentError(`${field} is mapped twice.`);
    return { ...known, [field]: column };
  };
}

const parseAs =
  ({ expected, read }: typeof DELIMITER) =>
  (value: string): string => {
    const known = read(value);
    if (known === undefined) throw new InvalidArgumentError(`It must be ${expected}.`);
    return known;
  };

function parseTagSeparator(value: string): string {
  if (value === '') throw new InvalidArgumentError('It must not be empty.');
  return value;
}
