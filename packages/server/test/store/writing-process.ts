import { writeSync } from 'node:fs';
import {
  newCaller,
  newLink,
  newLinks,
  PUBLIC_URL,
} from '../../src/store/contract/fixtures.test-suite.ts';
import { toJobInput } from '../../src/store/links.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import type { Caller, Store } from '../../src/store/store.ts';

/**
 * A process that writes to the database file it is given until it is killed, and reports every write on stdout only after the
 * store acknowledged it: `link <code>`, `job <account> <id> <total>`, `clicks <code>`.
 */
const [path = ''] = process.argv.slice(2);

/** Synchronous, so that nothing acknowledged is still in a buffer of this process when it dies. */
function report(...words: (string | number)[]): void {
  let rest = Buffer.from(`${words.join(' ')}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      // The pipe is full: on a busy machine this process writes faster than the test reads.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    }
  }
}

async function createLinks(store: Store, caller: Caller): Promise<never> {
  for (let n = 0; ; n += 1) {
    const outcome = await store.createLink({ caller, input: newLink(n), now: Date.now() });
    if (!outcome.ok) throw new Error(outcome.reason);
    report('link', outcome.value.code);
    await store.addClicks(new Map([[outcome.value.code, 1]]));
    report('clicks', outcome.value.code);
  }
}

async function createJobs(store: Store, caller: Caller): Promise<never> {
  for (;;) {
    const input = toJobInput(newLinks(1_600));
    const outcome = await store.createJob({ caller, input, now: Date.now() });
    if (!outcome.ok) throw new Error(outcome.reason);
    report('job', caller.accountId, outcome.value.job_id, input.total);
    // The last chunk is left to the next process, so that there is always a job to take up.
    for (let chunk = 0; chunk < 3; chunk += 1) {
      await store.runJobChunk(outcome.value.job_id, Date.now());
    }
  }
}

const store = await openSqliteStore({ path, publicUrl: PUBLIC_URL });
const caller = await newCaller(store);
await Promise.all([
  createJobs(store, caller),
  ...Array.from({ length: 10 }, () => createLinks(store, caller)),
]);
