import { fleetMutants } from './fleet-mutants.ts';
import { type Mutant, one } from './mutant.ts';
import { operatorMutants } from './operator-mutants.ts';

const COUNTERS = 'store/sqlite/counters.ts';
const CREATE = 'store/writes/create.ts';
const IDEMPOTENCY = 'store/writes/idempotency.ts';
const JOBS = 'store/jobs.ts';
const WRITE_CORE = 'store/sqlite/write-core.ts';

const LOOKUP = 'http/lookup.ts';

/** By name. They exist in the simulator only, as changes of the source text while it is loaded. */
export const mutants: Readonly<Record<string, Mutant>> = {
  // --- look-ups ---
  'lookup-without-jobs': one(
    'A look-up does not wait for jobs.',
    LOOKUP,
    'let due = await store.unfinishedJobs(accountId)',
    'let due: string[] = []',
  ),
  'found-by-the-old-target': one(
    'A corrected link keeps the number of the target that it had.',
    'store/writes/operators.ts',
    'targetNumber({ ...row, target_url: new_target })',
    'targetNumber(row)',
  ),
  // --- windows and quotas ---
  'one-request-too-many': one(
    'A full window admits one more request.',
    'domain/limits.ts',
    'used >= limit',
    'used > limit',
  ),
  'one-request-too-few': one(
    'The last request of a window is refused.',
    'domain/limits.ts',
    'used >= limit',
    'used + 1 >= limit',
  ),
  'minute-begins-early': one(
    'The last millisecond of a minute counts in the next one.',
    'domain/limits.ts',
    'Math.floor(now / MINUTE_MS) * MINUTE_MS',
    'Math.floor((now + 1) / MINUTE_MS) * MINUTE_MS',
  ),
  'minute-begins-late': one(
    'The first millisecond of a minute counts in the one before.',
    'domain/limits.ts',
    'Math.floor(now / MINUTE_MS) * MINUTE_MS',
    'Math.floor((now - 1) / MINUTE_MS) * MINUTE_MS',
  ),
  'day-of-25-hours': one(
    'The day ends an hour late.',
    'domain/limits.ts',
    "{ name: 'day', startsAt: day, endsAt: day + DAY_MS }",
    "{ name: 'day', startsAt: day, endsAt: day + DAY_MS + 3_600_000 }",
  ),
  'count-after-commit': one(
    'Requests that are committed together do not see each other in the windows.',
    COUNTERS,
    '  count.used += number;\n',
    '',
  ),
  'refused-requests-count': one(
    'A refused request counts in the windows.',
    COUNTERS,
    '    counters.refuse(keyId, refusedBy.name, now);\n',
    '    counters.refuse(keyId, refusedBy.name, now);\n    for (const count of counts) add(count, 1);\n',
  ),
  'no-refund': one(
    'A request that failed on the side of the service is not given back.',
    'http/admit.ts',
    'c.res.status < 500',
    'c.res.status < 600',
  ),
  'refund-at-the-end': one(
    'A request that fails is given back to the window in which it ended.',
    'http/admit.ts',
    'store.refund(caller, now)',
    'store.refund(caller, clock())',
  ),
  'refund-of-one-window': one(
    'A request that fails is given back to the minute alone.',
    COUNTERS,
    'windowsAt(now).map((window)',
    'windowsAt(now).slice(0, 1).map((window)',
  ),
  'refund-of-refused-batch': one(
    'A batch that the plan refuses is given back, although it counts.',
    'http/admit.ts',
    'c.res.status < 500',
    'c.res.status < 403',
  ),
  'shared-windows': one(
    'Every key has windows of its own.',
    COUNTERS,
    ' windows.map((window) => counters.requests(accountId, window)',
    ' windows.map((window) => counters.requests(keyId, window)',
  ),

  // --- totals of links ---
  'one-link-too-many': one(
    'The total of links is passed by one.',
    'domain/limits.ts',
    'used + adding > allowed',
    'used + adding > allowed + 1',
  ),
  'jobs-take-no-links': one(
    'A job is accepted without taking its links from the total.',
    CREATE,
    'createTogether(engine, [request], input.total, ',
    'createTogether(engine, [request], 0, ',
  ),
  'refused-batch-takes-links': one(
    'A batch that does not fit takes its links from the total all the same.',
    COUNTERS,
    "    if (limit !== 'links' || exceeds(limits.links, total.used, links)) break;",
    "    if (limit !== 'links' || exceeds(limits.links, total.used, links)) {\n      add(total, links);\n      break;\n    }",
  ),

  // --- idempotency ---
  'no-idempotency-record': one(
    'The response to an idempotency key is not stored.',
    IDEMPOTENCY,
    'const [first] = kept;',
    'const [first] = kept.slice(kept.length);',
  ),
  'idempotency-for-an-hour': one(
    'An idempotency key is forgotten after an hour.',
    'store/retention.ts',
    'IDEMPOTENCY_RETENTION_MS = DAY_MS',
    'IDEMPOTENCY_RETENTION_MS = DAY_MS / 24',
  ),
  'key-stays-taken': one(
    'A create that fails leaves its idempotency key taken.',
    'http/links.ts',
    `    try {
      const outcome = await act({ ...sender, input: body.input });
      if (outcome.ok) return outcome;
      if (outcome.reason === 'plan_limit') throw problems.planLimitReached(outcome);
      throw problems.idempotencyConflict();
    } finally {
      running.delete(id);
    }`,
    `    const outcome = await act({ ...sender, input: body.input });
    running.delete(id);
    if (outcome.ok) return outcome;
    if (outcome.reason === 'plan_limit') throw problems.planLimitReached(outcome);
    throw problems.idempotencyConflict();`,
  ),
  'keys-of-all-accounts': one(
    'An idempotency key is taken for all accounts while one uses it.',
    'http/links.ts',
    '`$' + '{caller.accountId} $' + '{idempotency.key}`',
    'idempotency.key',
  ),
  'any-body-replays': one(
    'Another body under the same idempotency key gets the first response.',
    IDEMPOTENCY,
    'stored.fingerprint === request.idempotency?.fingerprint',
    'stored.fingerprint !== undefined',
  ),
  'refusals-replay': one(
    'A refusal is stored as the response to its idempotency key.',
    IDEMPOTENCY,
    'else dropped.push(idempotency);',
    "else kept.push({ ...idempotency, answer: '{}' });",
  ),

  // --- jobs ---
  'chunk-twice': one(
    'A chunk that is done stays in the queue.',
    JOBS,
    'SET inputs = NULL, results = ',
    'SET results = ',
  ),
  'last-chunk-lost': one(
    'A job counts as complete before its last chunk.',
    JOBS,
    'const done = processed === total;',
    'const done = processed >= total - 40;',
  ),
  'chunks-backwards': one(
    'The chunks of a job are run from the last to the first.',
    JOBS,
    'ORDER BY chunk LIMIT 1',
    'ORDER BY chunk DESC LIMIT 1',
  ),
  'chunk-before-its-fence': one(
    'A chunk is chosen without looking which were done since: two runners make it twice.',
    JOBS,
    'AND inputs IS NOT NULL ORDER BY chunk LIMIT 1',
    'AND inputs IS NOT NULL ORDER BY abs(random()) LIMIT 1',
  ),
  'no-takeover': one(
    'Nobody takes over the job of an instance that died.',
    'jobs/runner.ts',
    'act: () => this.#findJobs(),',
    'act: async () => undefined,',
  ),
  'no-retry': one(
    'A job that failed once is not tried again by its instance.',
    'jobs/runner.ts',
    'failing.timer = undefined;\n      this.#add(jobId);',
    'this.#queue.delete(jobId);',
  ),
  'job-of-anybody': one(
    'A job can be polled by another account.',
    JOBS,
    'jobId} AND account_id = ',
    'jobId} AND account_id IS NOT ',
  ),
  'jobs-pruned-at-once': one(
    'Completed jobs are deleted with the next housekeeping.',
    'store/retention.ts',
    'JOB_RETENTION_MS = 7 * DAY_MS',
    'JOB_RETENTION_MS = 0',
  ),

  // --- commits ---
  'acknowledged-before-commit': one(
    'Writes are acknowledged although their commit fails.',
    WRITE_CORE,
    'const replies = this.#perform(requests);\n      this.#commit();',
    'const replies = this.#perform(requests);\n      try { this.#commit(); } catch { db.rollback(); }',
  ),
  'failed-write-stays': one(
    'A write that fails leaves what it had done so far.',
    WRITE_CORE,
    '      db.rollback();\n',
    "      if (requests.length === 1) try { db.exec('COMMIT'); } catch {}\n      db.rollback();\n",
  ),
  'group-done-twice': one(
    'When one write of a group fails, those before it are done twice.',
    WRITE_CORE,
    '      db.rollback();\n',
    "      if (requests.length > 1) try { db.exec('COMMIT'); } catch {}\n      db.rollback();\n",
  ),
  'broken-commit-is-safe': one(
    'A commit that broke in the middle is said to have stored nothing.',
    WRITE_CORE,
    "error.reason !== 'unavailable') throw error;",
    "error.reason !== 'never') throw error;",
  ),
  'replies-crossed': one(
    'Each write of a group gets the response of another one.',
    WRITE_CORE,
    '    this.#engine.counters.flush();\n    return replies;',
    '    this.#engine.counters.flush();\n    return replies.map(({ id }, index) => ({ ...replies[replies.length - 1 - index], id }) as WriteReply);',
  ),

  // --- keys and clicks ---
  'revoked-key-remembered': one(
    'A key that was looked up once is valid for ever.',
    'http/admit.ts',
    'if (ofThisTurn.size === 0) setImmediate(() => ofThisTurn.clear());',
    '',
  ),
  'redirect-from-memory-not-counted': one(
    'A click that is redirected from memory is not counted.',
    'http/fast-redirect.ts',
    'if (!isPreviewed) onClick(code);',
    'if (isPreviewed) onClick(code);',
  ),
  'clicks-lost-at-the-end': one(
    'A server that stops does not write its last clicks.',
    'jobs/click-buffer.ts',
    'if (await flush()) break;',
    'break;',
  ),

  ...operatorMutants,
  ...fleetMutants,
};
