import { CHANGES } from './changes.ts';
import { COMMAND_LINE } from './command-line.ts';
import { EVIDENCE } from './evidence.ts';
import { FALSE_WORDS } from './false-words.ts';
import { BULK, CHECK, HTTP, JOURNAL, type Mutant, mutant, REPORT, SEND } from './mutant.ts';
import { REQUESTS } from './requests.ts';

/** What a crash or a power cut must not be able to take away. */
const DURABILITY: readonly Mutant[] = [
  mutant('journal not synced', `${JOURNAL}/database.ts`, 'synchronous = FULL', 'synchronous = OFF'),
  mutant(
    'journal not locked',
    `${JOURNAL}/database.ts`,
    'LOCK_WAIT_MS}; PRAGMA locking_mode = EXCLUSIVE`',
    'LOCK_WAIT_MS}`',
  ),
  mutant(
    'journal always removed',
    `${JOURNAL}/open-journal.ts`,
    'if (journal.isEmpty) endEmpty',
    'if (path) endEmpty',
  ),
  mutant('results not synced', `${REPORT}/replacement.ts`, '      await file.sync();\n', ''),
  mutant(
    'folder of results not synced',
    `${REPORT}/replacement.ts`,
    '      await putInPlace(temporary, target);\n      await syncFolder(dirname(target));\n',
    '      await putInPlace(temporary, target);\n',
  ),
  {
    name: 'results in place before they are synced',
    patches: [
      {
        file: `${REPORT}/replacement.ts`,
        find: '      await file.sync();\n      await file.close();\n      handle = undefined;\n',
        replace: '',
      },
      {
        file: `${REPORT}/replacement.ts`,
        find: '      await putInPlace(temporary, target);\n      await syncFolder(dirname(target));\n',
        replace:
          '      await putInPlace(temporary, target);\n      await file.sync();\n      await file.close();\n      handle = undefined;\n      await syncFolder(dirname(target));\n',
      },
    ],
  },
  mutant(
    'copy of a mounted file not durable',
    `${REPORT}/replacement.ts`,
    '      await syncFolder(dirname(target));\n    });',
    '    });',
  ),
  mutant(
    'mounted file not synced before its copy is removed',
    `${REPORT}/replacement.ts`,
    '    await handle.sync();\n  } finally',
    '  } finally',
  ),
  mutant(
    'mounted file that was cut not restored',
    'cli/src/import/run-import.ts',
    "if (settings.output !== '-') await finishReplacement",
    'if (settings.file === undefined) await finishReplacement',
  ),
  mutant(
    'recorded after it is sent',
    `${HTTP}/transport.ts`,
    'await watch.beforeSend();',
    'setTimeout(() => void watch.beforeSend(), 1);',
  ),
  mutant(
    'results not recorded',
    `${SEND}/batch-recorder.ts`,
    ' else if (isSettled(event)) journal.decide(batch, { ...decisionOf(event), ids });',
    '',
  ),
  mutant(
    'job not recorded',
    `${SEND}/batch-recorder.ts`,
    "if (event.type === 'accepted') journal.note(batch.id, 'accepted', { job: event.job_id });",
    "if (event.type === 'accepted');",
  ),
  mutant(
    'refused batch stays recorded',
    `${SEND}/batch-recorder.ts`,
    "else if (event.type === 'resized' || event.type === 'unsent') journal.release(batch);",
    "else if (event.type === 'resized' || event.type === 'unsent');",
  ),
  mutant(
    'sent although it was not recorded',
    `${BULK}/batch-life.ts`,
    '      this.#run.endWith(error);\n      return false;',
    '      return error !== undefined;',
  ),
  mutant(
    'standard input forgotten before its results are written',
    'cli/src/import/run-import.ts',
    '    // Report: read the input once more',
    "    if (typeof settings.journal !== 'string') journal.forget();\n    // Report: read the input once more",
  ),
];

/** Which row has which link. */
const ROWS: readonly Mutant[] = [
  mutant(
    'off by one when a job is resumed',
    `${SEND}/settle-open.ts`,
    'const ids = journal.linksOf(batch).map(({ id }) => id);',
    'const ids = journal.linksOf(batch).map(({ id }) => id + 1);',
  ),
  mutant(
    'off by one when results are recorded',
    `${JOURNAL}/journal.ts`,
    'const at = ids === undefined ? index :',
    'const at = ids === undefined ? index + 1 :',
  ),
  mutant(
    'first edited row not matched',
    `${CHECK}/read-evidence.ts`,
    'match(columns, sql.CERTAIN);',
    "db.exec(sql.matchBy(columns, sql.CERTAIN) + (columns === 'key, pair' ? ' WHERE n > 1' : ''));",
  ),
  mutant(
    'known links forgotten with the unknown',
    `${JOURNAL}/batches.ts`,
    'if (entry !== null && (isSure || !isCreated(known[index]))) known[index] = entry;',
    'if (entry !== null) known[index] = entry;',
  ),
  mutant(
    'invalid rows sent',
    `${SEND}/send-new-rows.ts`,
    'checked.rejectedRows.has(number) ||\n',
    '',
  ),
  mutant(
    'limit counted anew in each round',
    `${SEND}/send-new-rows.ts`,
    'const links = found.new - forecast.unsent;',
    'const links = Math.min(forecast.links, found.new);',
  ),
  mutant(
    'unsent batches skipped in the results',
    `${REPORT}/report-rows.ts`,
    'for (; position < batch.first; position += 1) yield undefined;',
    '',
  ),
  mutant(
    'results taken by position although some are missing',
    `${BULK}/results.ts`,
    'if (isInStep && !isMixed && ![...unused].some(',
    'if (!isMixed && ![...unused].some(',
  ),
  mutant(
    'results taken in any order',
    `${BULK}/results.ts`,
    'if (isInStep && areInPlace) return results;',
    'if (targets.length) return results as readonly BatchResultItem[];',
  ),
  mutant(
    'links forgotten too early',
    `${SEND}/send-rows.ts`,
    'links.forget(index + 1)',
    'links.forget(index + 2)',
  ),
];

/** What only imports against our own server can find. */
const SERVER: readonly Mutant[] = [
  mutant(
    'server carries a key out again',
    'server/src/store/writes/idempotency.ts',
    'if (stored !== undefined) outcomes.set',
    'if (stored === null) outcomes.set',
  ),
  mutant(
    'server runs a chunk of a job twice',
    'server/src/store/jobs.ts',
    'SET inputs = NULL, results = ',
    'SET results = ',
  ),
];

export const MUTANTS: readonly Mutant[] = [
  ...DURABILITY,
  ...REQUESTS,
  ...ROWS,
  ...CHANGES,
  ...EVIDENCE,
  ...FALSE_WORDS,
  ...COMMAND_LINE,
  ...SERVER,
];
