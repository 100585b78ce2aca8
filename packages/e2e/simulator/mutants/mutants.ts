import type { Patch } from '../patches.ts';

/** A bug that the simulator must find. It exists while its worker runs, and nowhere else. */
export interface Mutant {
  name: string;
  patches: readonly Patch[];
}

const mutant = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  patches: [{ file, find, replace }],
});

const JOURNAL = 'cli/src/import/journal';
const SEND = 'cli/src/import/send';
const REPORT = 'cli/src/import/report';
const HTTP = 'sdk/src/http';
const BULK = 'sdk/src/bulk';

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
    'if (isEmpty(db)) endEmpty',
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
    'recorded after it is sent',
    `${HTTP}/transport.ts`,
    'await call.watch.beforeSend();',
    'setTimeout(() => void call.watch?.beforeSend(), 1);',
  ),
  mutant(
    'results not recorded',
    `${SEND}/batch-recorder.ts`,
    'this.#options.journal.completed(batch.id, results);',
    '',
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
    'if (batch !== undefined) journal.removed(batch.id);',
    '',
  ),
  mutant(
    'sent although it was not recorded',
    `${BULK}/run-context.ts`,
    '    run.endWith(error);\n    return false;',
    '    return error !== undefined;',
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
    `${HTTP}/transport.ts`,
    "{ outcome: 'unknown', timeoutMs }",
    "{ outcome: 'not-sent', timeoutMs }",
  ),
  mutant(
    'Retry-After ignored',
    `${HTTP}/retry.ts`,
    'Math.max(askedWaitMs(error) ?? 0, backoffMs(attempt, random))',
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
    'this.#limiter.pause(waitMs, error.retryAfterMs);',
    '',
  ),
  mutant(
    'quota used once too often',
    `${HTTP}/limiter.ts`,
    'window.remaining > 0) continue',
    'window.remaining >= 0) continue',
  ),
  mutant(
    'window ends too early',
    `${HTTP}/limiter.ts`,
    'endsAt: turn.countedAt + resetMs,',
    'endsAt: turn.countedAt + resetMs / 2,',
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
    "type: 'unsent', error });\n      run.endWith(error);",
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
    'failed job asked for again under its key',
    `${SEND}/send-rows.ts`,
    'needsNewKeys ? randomUUID()',
    'settings.restart ? randomUUID()',
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
    `${JOURNAL}/journal.ts`,
    'const id = batch.firstLink + index;',
    'const id = batch.firstLink + index + 1;',
  ),
  mutant(
    'off by one when results are unpacked',
    `${JOURNAL}/journal.ts`,
    '    const result = unpackResult(results, index);\n    if',
    '    const result = unpackResult(results, index + 1);\n    if',
  ),
  mutant(
    'last edited row not matched',
    'cli/src/import/check/existing-links.ts',
    'others.slice(0, left.length)',
    'others.slice(0, left.length - 1)',
  ),
  mutant(
    'known links forgotten with the unknown',
    `${JOURNAL}/journal.ts`,
    'batch IS NULL AND short_url IS NULL',
    'batch IS NULL',
  ),
  mutant(
    'invalid rows sent',
    `${SEND}/send-new-rows.ts`,
    'checked.rejectedRows.has(number) ||\n',
    '',
  ),
  mutant(
    'unsent batches skipped in the results',
    `${REPORT}/report-rows.ts`,
    'for (; position < first; position += 1) yield undefined;',
    '',
  ),
  mutant(
    'results of a job taken by position',
    `${JOURNAL}/packed-results.ts`,
    'isSame(result.target_url, targets[index]) : isWhole',
    'isSame(result.target_url, targets[index]) : true',
  ),
  mutant(
    'results taken in any order',
    `${BULK}/results.ts`,
    'if (areAllInPlace(links, results)) return results;',
    'if (areAllInPlace(links, results) || links.length) return results as readonly BatchResultItem[];',
  ),
  mutant(
    'links forgotten too early',
    `${SEND}/send-rows.ts`,
    'links.forget(last.index + 1)',
    'links.forget(last.index + 2)',
  ),
];

/** What the import says of its work. */
const WORDS: readonly Mutant[] = [
  mutant(
    'titles not sent',
    `${SEND}/link-source.ts`,
    'const link = this.#rules.link(this.#row);',
    'const { title: _, ...link } = this.#rules.link(this.#row);',
  ),
  mutant(
    'links of equal targets exchanged',
    `${BULK}/results.ts`,
    'if (areAllInPlace(links, results)) return results;',
    `if (areAllInPlace(links, results)) {
    const left = results.toReversed();
    return links.map(({ target_url }) => {
      const index = left.findIndex((result) => result.target_url === target_url);
      return left.splice(index, 1)[0] as BatchResultItem;
    });
  }`,
  ),
  mutant(
    'results in another order',
    `${REPORT}/report-rows.ts`,
    'text += format.line(row, outcomeOf(row, number));',
    'text = format.line(row, outcomeOf(row, number)) + text;',
  ),
  mutant(
    'short URL of another address',
    `${REPORT}/report-rows.ts`,
    '{cell(outcome.short_url)}',
    "{cell(outcome.short_url.replace('sho.rt', 'other.example'))}",
  ),
  mutant(
    'code of a row that has no link',
    `${REPORT}/report-rows.ts`,
    ": ['', '', outcome.status, outcome.error]",
    ": ['c0', '', outcome.status, outcome.error]",
  ),
  mutant('results without the reason', `${REPORT}/report-rows.ts`, 'cell(outcome.error)', "''"),
  mutant(
    'one link for two equal rows',
    'cli/src/import/check/existing-links.ts',
    'byContent.get(row.content)?.pop()',
    'byContent.get(row.content)?.at(-1)',
  ),
  mutant(
    'rows of unknown outcome taken for existing ones',
    'cli/src/import/check/existing-links.ts',
    "if (short_url !== null) yield { status: 'created', code: code ?? '', short_url };",
    "if (number >= 0) yield { status: 'created', code: code ?? '', short_url: short_url ?? '' };",
  ),
  mutant(
    'existing rows counted as created',
    `${SEND}/send-new-rows.ts`,
    'created: have - before.existing,\n    existing: before.existing,',
    'created: have,\n    existing: 0,',
  ),
  mutant(
    'edited rows not counted',
    'cli/src/import/check/existing-links.ts',
    "link.content !== '' && link.content !== content",
    "link.content === ''",
  ),
  mutant(
    'links without a row not counted',
    'cli/src/import/check/existing-links.ts',
    'found.gone += gone;',
    '',
  ),
  mutant(
    'requests of earlier runs counted',
    'cli/src/import/run-import.ts',
    'deps.requestCount() - requestsBefore',
    'deps.requestCount() + settings.concurrency - 1',
  ),
  mutant(
    'one link more than --limit',
    `${SEND}/link-source.ts`,
    '>= this.#options.limit',
    '> this.#options.limit',
  ),
  mutant(
    'rejected rows do not stop the run',
    'cli/src/import/run-import.ts',
    'if (stopped !== undefined) return { ...summary, stopped };',
    '',
  ),
  mutant(
    'rejects with the line before',
    `${REPORT}/rejects.ts`,
    'String(row.line)',
    'String(row.line - 1)',
  ),
  mutant(
    'plan without room does not stop the run',
    `${REPORT}/summary.ts`,
    'if (room !== undefined && forecast?.isShort && counts.unsent > 0) return stoppedByPlan(room);',
    '',
  ),
  mutant(
    "forecast without the plan's room",
    'cli/src/import/check/forecast.ts',
    'Math.min(links, settings.limit ?? links, room ?? links)',
    'Math.min(links, settings.limit ?? links)',
  ),
  mutant(
    'exit code 0 although rows failed',
    'cli/src/cli-error.ts',
    'summary.rejected + summary.failed > 0',
    'summary.rejected > 0',
  ),
  mutant(
    'exit code of a stopped run by its rows',
    'cli/src/cli-error.ts',
    'if (summary.stopped !== undefined) return',
    "if (summary.stopped?.reason === 'rejects') return",
  ),
  mutant(
    'results copied into place',
    `${REPORT}/replacement.ts`,
    '    await rename(temporary, target);\n',
    '    await rm(target, { force: true });\n    await copyFile(temporary, target);\n',
  ),
];

/** What only imports against our own server can find. */
const SERVER: readonly Mutant[] = [
  mutant(
    'server carries a key out again',
    'server/src/store/sqlite/operations/create.ts',
    '  if (idempotency !== undefined) {\n    const',
    '  if (idempotency === null) {\n    const',
  ),
  mutant(
    'server runs a chunk of a job twice',
    'server/src/store/sqlite/operations/run-job-chunk.ts',
    'SET inputs = NULL, results = ?',
    'SET results = ?',
  ),
];

export const MUTANTS: readonly Mutant[] = [
  ...DURABILITY,
  ...REQUESTS,
  ...ROWS,
  ...WORDS,
  ...SERVER,
];
