import { MAP, type Mutant, mutant } from './mutant.ts';

const COMMAND = 'cli/src/commands/import';
const OUTPUT = 'cli/src/output';
const VERIFY = 'cli/src/verify';

/** What the command makes of its words, what it prints, and what rows say beside target and title. */
export const COMMAND_LINE: readonly Mutant[] = [
  mutant(
    'pace of the command line not read',
    `${COMMAND}/import.ts`,
    '    requestsPerMinute: options.rpm,\n',
    '    requestsPerMinute: undefined,\n',
  ),
  mutant(
    'reading the usage counted as a request',
    `${COMMAND}/watch-import.ts`,
    "if (!path.endsWith('/usage')) requests++;",
    'if (path) requests++;',
  ),
  mutant(
    'exit code of a file not that of the run',
    `${COMMAND}/import-files.ts`,
    'if (last !== EXIT_CODES.ok && !finished.includes(last)) return last;',
    '',
  ),
  mutant(
    'summary file left empty',
    `${COMMAND}/import-files.ts`,
    'await writeSummary(options.summary, toSafeJson(summary, 2)).catch',
    'await writeSummary(options.summary, "").catch',
  ),
  mutant(
    'warnings printed as text between events',
    `${OUTPUT}/printer.ts`,
    "if (this.options.json) this.event({ event: 'warning', message: text });\n    else this",
    'this',
  ),
  mutant(
    'tags lost',
    `${MAP}/row-rules.ts`,
    'tags: tagsOf(values, mapping.tags),',
    'tags: undefined,',
  ),
  mutant(
    'short URL that nobody knows taken for right',
    `${VERIFY}/judge.ts`,
    "return verdict('not_found', 'the server does not know this short URL (404)');",
    "return verdict('ok');",
  ),
  mutant(
    'failure that passes not asked again',
    `${VERIFY}/ask.ts`,
    'isPassing: PASSING.includes(status)',
    'isPassing: false',
  ),
  mutant(
    'cookie of a page not sent back',
    `${VERIFY}/ask.ts`,
    '...(cookie && { Cookie: cookie })',
    '',
  ),
  mutant(
    'rows of a report in the order of their responses',
    `${VERIFY}/run-verify.ts`,
    'for await (const line of lines) await output.write(line);',
    'const all: string[] = [];\n    for await (const line of lines) all.unshift(line);\n    for (const line of all) await output.write(line);',
  ),
];
