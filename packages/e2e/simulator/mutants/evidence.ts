import { CHECK, JOURNAL, type Mutant, mutant, REPORT, SEND } from './mutant.ts';

/** What is known of links once files are lost: from the service, and from files that are left. */
export const EVIDENCE: readonly Mutant[] = [
  mutant(
    'service not asked which links exist',
    `${SEND}/send-new-rows.ts`,
    "canAsk = lists('lookup') && !restart",
    "canAsk = lists('look-up') && !restart",
  ),
  mutant(
    'rows not compared again after a failed look-up',
    `${SEND}/send-new-rows.ts`,
    'await askAgain(input).finally(async () => {',
    'await askAgain(input).then(async () => {',
  ),
  mutant(
    'links found before a failure not recorded',
    `${SEND}/send-new-rows.ts`,
    'if (mayAdopt && isStopped()) await evidence.compare();',
    '',
  ),
  mutant(
    'usage that can not be read taken for one without features',
    `${CHECK}/forecast.ts`,
    '    if (isOffered || (ShortlinkError.isInstance(error) && !ApiError.isInstance(error))) throw error;\n',
    '',
  ),
  mutant(
    'request in flight looked up at once',
    `${CHECK}/ask-service.ts`,
    'const IN_FLIGHT_MS = 60_000;',
    'const IN_FLIGHT_MS = 0;',
  ),
  mutant(
    'request in flight timed from its first attempt',
    `${CHECK}/ask-service.ts`,
    'agesOf(batch.again ?? batch, deps)',
    'agesOf(batch, deps)',
  ),
  mutant(
    'first page of a look-up taken for all of it',
    `${CHECK}/ask-service.ts`,
    'return more && after !== undefined',
    'return !more && after !== undefined',
  ),
  mutant(
    'domain left out of a look-up',
    `${CHECK}/ask-service.ts`,
    '...linkOfPair(pair),',
    'target_url: linkOfPair(pair).target_url,',
  ),
  mutant(
    'title of a link that was looked up ignored',
    `${CHECK}/ask-service.ts`,
    '{ ...target, title, tags, redirect_type }',
    '{ ...target, tags, redirect_type }',
  ),
  mutant(
    'results of a look-up moved by one',
    `${CHECK}/ask-service.ts`,
    'results[index] ?? {}',
    'results[index + 1] ?? {}',
  ),
  mutant(
    'others created without a decision',
    `${CHECK}/ask-service.ts`,
    'if (lines === 0) return comparison;',
    'if (lines >= 0) return comparison;',
  ),
  mutant(
    'reuse taken for create',
    `${CHECK}/read-evidence.ts`,
    'if (isReused) {',
    'if (isReused && hasDoubts) {',
  ),
  mutant(
    'doubts left although the service was asked',
    `${CHECK}/ask-service.ts`,
    '  await evidence.settle();\n',
    '',
  ),
  mutant(
    'results beside the input not read',
    `${CHECK}/compare-rows.ts`,
    'return isOfOthers(journal) || !journal.hasWritten(record) ? record : undefined;',
    'return undefined;',
  ),
  mutant(
    'links of the results not kept in the journal',
    `${SEND}/send-new-rows.ts`,
    'if (mayAdopt) found =',
    'if (mayAdopt && !isFirst) found =',
  ),
  mutant(
    'doubts of the results not kept in the journal',
    `${CHECK}/evidence-sql.ts`,
    `) OR \${DOUBTS}\``,
    ')`',
  ),
  mutant(
    'files under other names not read',
    `${SEND}/send-new-rows.ts`,
    'await filesBeside(settings, journal, deps)',
    '[]',
  ),
  {
    name: 'journals under other names not read',
    patches: [
      {
        file: `${JOURNAL}/file.ts`,
        find: 'export const JOURNAL_NAME = /\\.shortlink-journal$/;',
        replace: 'export const JOURNAL_NAME = /\\.no-journal$/;',
      },
      {
        file: `${CHECK}/beside.ts`,
        find: "    if (isJournal(path)) return 'journal';",
        replace:
          "    if (isJournal(path)) return path === JOURNAL_NAME.source ? 'journal' : undefined;",
      },
    ],
  },
  {
    name: 'results under other names not read',
    patches: [
      {
        file: `${CHECK}/beside.ts`,
        find: '(?:csv|tsv|txt|jsonl|ndjson|xlsx)',
        replace: '(?:tsv)',
      },
      { file: `${CHECK}/beside.ts`, find: 'RESULTS_NAMES.test(head)', replace: "head === ''" },
    ],
  },
  {
    name: 'damaged journal begun anew',
    patches: [
      {
        file: `${JOURNAL}/database.ts`,
        find: "      db.exec('BEGIN EXCLUSIVE; COMMIT');",
        replace: `      try {
        db.exec('BEGIN EXCLUSIVE; COMMIT');
      } catch (error) {
        if (!String(error).includes('malformed')) throw error;
        db.close();
        rmSync(path, { force: true });
        continue;
      }`,
      },
    ],
  },
  mutant(
    'first of two rows that name a link has it',
    `${CHECK}/evidence-sql.ts`,
    'ORDER BY fit DESC, number) AS n',
    'ORDER BY number) AS n',
  ),
  mutant(
    'made_for not written',
    `${REPORT}/report-rows.ts`,
    "if (readMadeFor(own.made_for) !== null) return { status: 'created', ...own };",
    "return { status: 'created', ...own, made_for: '' };",
  ),
  mutant(
    'links that rows name themselves not known',
    `${CHECK}/evidence.ts`,
    'const url = own?.short_url ?? null;',
    'const url = null;',
  ),
  mutant(
    'edited row with the link of another row',
    `${CHECK}/evidence.ts`,
    'if (fit === 0 || (own ?? doubt) === undefined) return;',
    'if ((own ?? doubt) === undefined) return;',
  ),
];
