import { CHANGES } from './changes.ts';
import { EVIDENCE } from './evidence.ts';
import { FALSE_WORDS } from './false-words.ts';
import { BULK, CHECK, HTTP, JOURNAL, type Mutant, mutant, REPORT, SEND } from './mutant.ts';

/** What a crash or a power cut must not be able to take away. */
const DURABILITY: readonly Mutant[] = [
  mutant(
    'journal not synced',
    `${JOURNAL}/database.ts`,
    'synchronous = FULL',
    'synchronous = NORMAL',
  ),
  mutant(
    'journal not locked',
    `${JOURNAL}/database.ts`,
    "db.exec('PRAGMA locking_mode = EXCLUSIVE');",
    '',
  ),
  mutant(
    'journal always removed',
    `${JOURNAL}/open-journal.ts`,
    'if (journal.isEmpty) endEmpty',
    'if (path) endEmpty',
  ),
  mutant('results not synced', `${REPORT}/replacement.ts`, '      await handle.sync();\n', ''),
  mutant(
    'folder of results not synced',
    `${REPORT}/replacement.ts`,
    '      await syncFolder(dirname(this.#target));\n',
    '',
  ),
  {
    name: 'results in place before they are synced',
    patches: [
      {
        file: `${REPORT}/replacement.ts`,
        find: '      await handle.sync();\n      await handle.close();\n      this.#handle = undefined;\n',
        replace: '',
      },
      {
        file: `${REPORT}/replacement.ts`,
        find: '      await syncFolder(dirname(this.#target));\n',
        replace:
          '      await handle.sync();\n      await handle.close();\n      this.#handle = undefined;\n      await syncFolder(dirname(this.#target));\n',
      },
    ],
  },
  mutant(
    'copy of a mounted file not durable',
    `${REPORT}/replacement.ts`,
    '      await syncFolder(dirname(target));\n',
    '',
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
    '    this.#options.journal.decide(batch, decision);\n    batch.isOpen',
    '    batch.isOpen',
  ),
  mutant(
    'job not recorded',
    `${SEND}/batch-recorder.ts`,
    'if (batch !== undefined) journal.accepted(batch.id, event.job_id);',
    '',
  ),
  mutant(
    'refused batch stays recorded',
    `${SEND}/batch-recorder.ts`,
    'if (batch !== undefined) journal.release(batch);',
    '',
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

/** What must not be sent, or not yet. */
const REQUESTS: readonly Mutant[] = [
  mutant(
    'lost POST sent again',
    `${HTTP}/retry.ts`,
    "(isRepeatable || error.outcome === 'not-sent');\n  }\n  if (TimeoutError",
    'true;\n  }\n  if (TimeoutError',
  ),
  mutant(
    'POST sent again after a timeout',
    `${HTTP}/retry.ts`,
    "return isRepeatable || error.outcome === 'not-sent';",
    'return true;',
  ),
  mutant(
    'POST sent again after a 5xx',
    `${HTTP}/retry.ts`,
    'return isRepeatable && isPassing',
    'return isPassing',
  ),
  mutant(
    'POST sent again after a plain 503',
    `${HTTP}/retry.ts`,
    'error.status === 503 && saysWhen',
    'error.status === 503',
  ),
  mutant(
    '5xx taken for nothing done',
    'sdk/src/errors/call-errors.ts',
    'return !(error.status === 503',
    'return false && !(error.status === 503',
  ),
  mutant(
    'timeout taken for not sent',
    `${HTTP}/send.ts`,
    "{ outcome: 'unknown', timeoutMs }",
    "{ outcome: 'not-sent', timeoutMs }",
  ),
  mutant(
    'Retry-After ignored',
    `${HTTP}/retry.ts`,
    'Math.max(askedWaitMs(error), backoffMs(attempt, random))',
    'backoffMs(attempt, random)',
  ),
  mutant(
    'Retry-After cut short',
    `${HTTP}/response-headers.ts`,
    'Math.ceil(Number(value) * 1000)',
    'Math.ceil(Number(value) * 900)',
  ),
  mutant(
    '429 pauses one request only',
    `${HTTP}/transport.ts`,
    'this.#limiter.pause(waitMs, error.retryAfterMs, call.onPause);',
    '',
  ),
  mutant(
    'quota used once too often',
    `${HTTP}/limiter.ts`,
    'this.#remaining(window) > 0) continue',
    'this.#remaining(window) >= 0) continue',
  ),
  mutant(
    'window ends too early',
    `${HTTP}/limiter.ts`,
    'endsAt: countedAt + resetMs,',
    'endsAt: countedAt + resetMs / 2,',
  ),
  mutant(
    'pace without a window',
    `${HTTP}/limiter.ts`,
    'Math.max(this.#nextAt, windowEnd)',
    'this.#nextAt',
  ),
  mutant(
    'refused key does not end the run',
    `${BULK}/batch-life.ts`,
    "type: 'unsent', error });\n        this.#run.endWith(error);",
    "type: 'unsent', error });",
  ),
  mutant(
    "plan's batch size ignored",
    'cli/src/import/check/forecast.ts',
    'Math.min(size, usage?.batch_size ?? size)',
    'size',
  ),
  mutant(
    'another key for the same batch',
    `${SEND}/settle-open.ts`,
    'idempotencyKey: () => idempotencyKey,',
    "idempotencyKey: () => idempotencyKey.concat('-2'),",
  ),
  mutant(
    'key of a larger batch used for its parts',
    `${SEND}/batch-recorder.ts`,
    '        this.#keys.delete(first);\n',
    '',
  ),
  mutant('key trusted for too long', `${SEND}/settle-open.ts`, '23 * 60', '50 * 60'),
  mutant(
    'skip taken for retry',
    `${SEND}/settle-open.ts`,
    "else if (settings.onUnknown === 'retry')",
    "else if (settings.onUnknown !== 'stop')",
  ),
];

/** Which row has which link. */
const ROWS: readonly Mutant[] = [
  mutant(
    'off by one when a job is resumed',
    `${SEND}/settle-open.ts`,
    'onBatch(links.map((link) => link.id))',
    'onBatch(links.map((link) => link.id + 1))',
  ),
  mutant(
    'off by one when results are recorded',
    `${JOURNAL}/journal.ts`,
    'const at = ids === undefined ? index :',
    'const at = ids === undefined ? index + 1 :',
  ),
  mutant(
    'first edited row not matched',
    `${CHECK}/match-rows.ts`,
    "db.exec(sql.matchBy('key, pair', sql.CERTAIN));",
    "db.exec(sql.matchBy('key, pair', sql.CERTAIN) + ' WHERE n > 1');",
  ),
  mutant(
    'known links forgotten with the unknown',
    `${JOURNAL}/batches.ts`,
    'if (link.short_url !== null) return;',
    'if (entry !== 0 && link.short_url !== null) return;\n  link.short_url = null;',
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
    'found.new - planned.left',
    'Math.min(planned.links, found.new)',
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
    'if (areAllInPlace(targets, results)) return results;',
    'if (areAllInPlace(targets, results) || targets.length) return results as readonly BatchResultItem[];',
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
    'server/src/store/sqlite/operations/create.ts',
    '  if (idempotency !== undefined) {\n    const earlier',
    '  if (idempotency === null) {\n    const earlier',
  ),
  mutant(
    'server runs a chunk of a job twice',
    'server/src/store/job-writes.ts',
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
  ...SERVER,
];
