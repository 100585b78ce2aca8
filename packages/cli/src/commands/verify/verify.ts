import { type Command, InvalidArgumentError } from 'commander';
import type { Resolved } from '../../agents.ts';
import { usageError } from '../../cli-error.ts';
import { isStream } from '../../import/is-stream.ts';
import type { VerifySettings } from '../../verify/run-verify.ts';
import type { TableSettings } from '../../verify/table.ts';
import {
  declareCommand,
  type Perform,
  parseCount,
  parseNameOf,
  STANDARD_STREAM,
} from '../declare.ts';
import { identityOf, nameFor } from '../import/import.ts';
import { tableOptions } from '../import/options.ts';

export const TABLE_FIELDS = [
  'short_url',
  'target_url',
] as const satisfies (keyof TableSettings['map'])[];

/** The options as commander hands them over. */
interface VerifyOptions
  extends Omit<TableSettings, 'file' | 'map'>,
    Pick<VerifySettings, 'targets' | 'concurrency'> {
  map?: TableSettings['map'];
  output?: string;
  allowGet?: boolean;
  allowPrivate?: boolean;
  resolve?: Resolved[];
  rpm?: number;
}

export interface VerifyInput {
  files: (TableSettings & VerifySettings)[];
  options: VerifyOptions;
}

export function declareVerify(program: Command, perform: Perform): void {
  const command = declareCommand(program, perform, {
    name: 'verify',
    description:
      'Check that each short URL of a file leads where its row says. The file has the results of an import, or is any table with a column of short URLs and one of targets. Nothing is changed, no click is counted, and no API key is needed or sent. Exit code 3 if any row is wrong; the report says what was found for each.',
    tries: [
      'shortlink verify links.csv.results.csv',
      'shortlink verify links.csv --targets',
      'shortlink verify export.csv --map short_url=Short --map target_url=Long',
      'shortlink verify export.csv --resolve 192.0.2.10:443',
    ],
    act: async (context, files: string[], options: VerifyOptions) => {
      const input = parseVerify(files, options);
      const { verifyFiles } = await import('./verify-files.ts');
      return verifyFiles(input, context);
    },
  })
    .argument('<file...>', 'files to verify, one after the other; - is standard input')
    .option('--targets', 'ask each target too, and report dead ones')
    .option(
      '--allow-get',
      'ask a short URL with GET where its server refuses HEAD; this may count a click',
    )
    .option(
      '--allow-private',
      'ask private addresses too, which is done anyway where the base URL has one',
    )
    .option(
      '--resolve <[host=]server:port>',
      'connect to this server whatever DNS says, for all short URLs or those of one host; may be given several times',
      parseResolve,
    )
    .option(
      '-o, --output <file>',
      'report, .csv or .jsonl; - is stdout (default: <input>.verify.csv, stdout if the input is -)',
      parseNameOf('A report is CSV or JSON lines', /\.(?:xlsx|json)$/i),
    )
    .option('--concurrency <n>', 'rows asked at once', parseCount(1, 256), 8)
    .option('--rpm <n>', 'requests per minute at most (default: no limit)', parseCount(1, 1e6));
  command.optionsGroup('Input:');
  const map = `name the column of a field (${TABLE_FIELDS.join(', ')})`;
  for (const option of tableOptions(map, TABLE_FIELDS)) {
    if (option.attributeName() !== 'tagSeparator') command.addOption(option);
  }
}

/** @throws CliError for files that would be written over, and reports that would be mixed */
function parseVerify(files: readonly string[], options: VerifyOptions): VerifyInput {
  const { map = {}, output, ...rest } = options;
  if (output !== undefined && files.length > 1) {
    throw usageError('--output is for one file: each file has a report of its own.');
  }
  const inputs = new Set(files.map(identityOf));
  if (inputs.size < files.length) throw usageError('A file is given twice.');
  const [stream, other] = files.filter(isStream);
  if (other !== undefined) {
    throw usageError(
      `The reports of ${stream} and ${other} would both go to standard output.`,
      'Verify one after the other.',
    );
  }
  const settings = files.map((file) => {
    const usual = isStream(file) ? STANDARD_STREAM : `${nameFor(file, rest.sheet)}.verify.csv`;
    const path = output ?? usual;
    if (path !== STANDARD_STREAM && inputs.has(identityOf(path))) {
      throw usageError(`The report and an input are the same file: ${path}`);
    }
    return { ...rest, file, map, output: path, isUsualOutput: output === undefined };
  });
  return { files: settings, options };
}

/** `server:port`, or `host=server:port` for the short URLs of one host. An IPv6 address is in brackets. */
function parseResolve(value: string, previous: readonly Resolved[] = []): Resolved[] {
  const match = /^(?:([^=\s/]+)=)?(\[[\da-f:.]+\]|[^:=\s/[\]]+):(\d{1,5})$/i.exec(value);
  const [, named, host, digits] = match ?? [];
  const port = Number(digits);
  // As `fetch` writes it: in lower case, in Punycode, and without a dot at its end.
  const name = named && URL.parse(`http://${named}`)?.hostname.replace(/\.$/, '');
  if (host === undefined || (named && !name) || port < 1 || port > 65_535) {
    throw new InvalidArgumentError(
      'It looks like 192.0.2.10:443, or go.example.com=192.0.2.10:443 for the short URLs of one host.',
    );
  }
  return [...previous, { name, host: host.replace(/^\[|\]$/g, ''), port }];
}
