import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { testFolder } from '../../../test/test-io.ts';
import type { Journal, OpenBatch } from './journal.ts';
import { linkText } from './link-text.ts';
import { openJournal } from './open-journal.ts';
import { packResults } from './packed-results.ts';

const URL = 'https://api.example';
const SENT_AT = '2026-01-02T03:04:05.000Z';

let path: string;
beforeEach(async () => {
  path = join(await testFolder(), 'journal');
});

/** The work of one run, or of one round of it. */
function inRun<T>(work: (journal: Journal) => T, baseUrl = URL): T {
  const journal = openJournal(path, baseUrl, false);
  try {
    return work(journal);
  } finally {
    journal.close();
  }
}

/** Records that a request for links to these targets is sent. */
function begin(journal: Journal, targets: readonly string[], idempotencyKey?: string): number {
  return journal.begin({
    links: JSON.stringify(targets.map((pair) => linkText({ content: '0000000', pair }))),
    size: targets.length,
    sentAt: SENT_AT,
    idempotencyKey,
    domain: idempotencyKey && 'dom_a',
    body: idempotencyKey && JSON.stringify(targets),
  });
}

const created = (code: string) => ({ code, short_url: `https://s.example/${code}` });

/** What is known of every link, in the order of the requests. */
function links(journal: Journal) {
  return journal.db.prepare('SELECT pair, code, short_url, error FROM link ORDER BY id').all();
}

describe('a request that got no response', () => {
  test('is open in the next run, with all that is needed to send it again', () => {
    inRun((journal) => begin(journal, ['a', 'b'], 'key'));
    inRun((journal) => {
      const [batch, ...others] = journal.openBatches();
      expect(others).toEqual([]);
      expect(batch).toMatchObject({
        sentAt: SENT_AT,
        idempotencyKey: 'key',
        job: undefined,
        size: 2,
        domain: 'dom_a',
        body: '["a","b"]',
      });
      expect(batch && journal.linksOf(batch).map(({ target_url }) => target_url)).toEqual([
        'a',
        'b',
      ]);
      expect(links(journal)).toMatchObject([{ pair: 'a', short_url: null }, { pair: 'b' }]);
    });
  });

  test('without a key has none of it', () => {
    inRun((journal) => begin(journal, ['a']));
    const nothing = { idempotencyKey: undefined, domain: undefined, body: undefined };
    expect(inRun((journal) => journal.openBatches())).toMatchObject([nothing]);
  });

  test('keeps its key once that has expired, and is not sent again', () => {
    inRun((journal) => journal.expired(begin(journal, ['a'], 'key')));
    const expired = { idempotencyKey: 'key', body: undefined };
    expect(inRun((journal) => journal.openBatches())).toMatchObject([expired]);
  });

  test('is no open batch in the round that sent it, until its links are asked for', () => {
    inRun((journal) => {
      begin(journal, ['a']);
      expect(journal.openBatches()).toEqual([]);
      expect(journal.hasLinks()).toBe(false);
      journal.unpackBatches();
      expect(journal.openBatches()).toHaveLength(1);
      expect(journal.hasLinks()).toBe(true);
      journal.unpackBatches();
      expect(links(journal)).toHaveLength(1);
      // Their texts are not kept twice.
      expect(journal.db.prepare('SELECT links FROM request').all()).toEqual([{ links: '[]' }]);
    });
  });

  test('is forgotten with its rows, and no others, when it is sent again as a new one', () => {
    inRun((journal) => {
      for (const targets of [['a'], ['b', 'c'], ['d']]) begin(journal, targets);
    });
    inRun((journal) => {
      const batches = journal.openBatches();
      expect(batches.map(({ size }) => size)).toEqual([1, 2, 1]);
      if (batches[1] !== undefined) journal.release(batches[1]);
      expect(links(journal)).toMatchObject([{ pair: 'a' }, { pair: 'd' }]);
      expect(journal.openBatches()).toEqual([batches[0], batches[2]]);
    });
  });

  test('that created nothing leaves nothing behind', () => {
    inRun((journal) => {
      journal.removed(begin(journal, ['a']));
      expect(journal.isEmpty).toBe(true);
    });
    expect(existsSync(path)).toBe(false);
  });
});

describe('a job', () => {
  test('is polled by the next run, and its links count until they have results', () => {
    inRun((journal) => {
      journal.accepted(begin(journal, ['a', 'b']), 'job-1');
      begin(journal, ['c']);
      expect(journal.linksInJobs()).toBe(2);
    });
    inRun((journal) => {
      expect(journal.openBatches()).toMatchObject([{ job: 'job-1' }, { job: undefined }]);
      expect(journal.linksInJobs()).toBe(2);
      expect(inOtherService(journal)).toBe(0);
    });
    inRun((journal) => {
      const id = begin(journal, ['d']);
      journal.accepted(id, 'job-2');
      journal.completed(id, packResults([created('d')]));
      expect(journal.linksInJobs()).toBe(2);
    });
  });

  test('whose outcome is unknown may be polled again, or not', () => {
    inRun((journal) => {
      journal.unknown(begin(journal, ['a']), packResults([{}], 'lost'), 'job-1');
      const id = begin(journal, ['b']);
      journal.accepted(id, 'job-2');
      journal.unknown(id, packResults([{}], 'gone'));
      const reasons = journal.db.prepare('SELECT error FROM batch ORDER BY id').all();
      expect(reasons).toEqual([{ error: 'lost' }, { error: 'gone' }]);
    });
    expect(inRun((journal) => journal.openBatches().map(({ job }) => job))).toEqual([
      'job-1',
      undefined,
    ]);
  });

  /** Links in jobs, as a run against another service sees them. */
  function inOtherService(journal: Journal): number {
    const { service } = journal;
    Object.assign(journal, { service: service + 1 });
    const count = journal.linksInJobs();
    Object.assign(journal, { service });
    return count;
  }
});

describe('the links of a job that was seen in part', () => {
  const partly = (...results: object[]) => packResults(results, 'the job takes too long');
  const inJob = (targets: readonly string[], ...results: object[]) =>
    inRun((journal) => journal.unknown(begin(journal, targets), partly(...results), 'job-1'));
  /** The next run looks at the job again. */
  const look = (work: (journal: Journal, batch: OpenBatch, ids: readonly number[]) => void) =>
    inRun((journal) => {
      const [batch] = journal.openBatches();
      if (batch === undefined) throw new Error('the batch is not open');
      const ids = journal.linksOf(batch).map(({ id }) => id);
      work(journal, batch, ids);
      return links(journal);
    });
  const unknown = (pair: string, error: string | null = null) => {
    return { pair, code: null, short_url: null, error };
  };

  test('stay known, whatever is not seen of the job later', () => {
    const known = { pair: 'a', ...created('x'), error: null };
    inJob(['a', 'b', 'c'], created('x'), { error: 'refused' }, {});
    expect(look(() => undefined)).toEqual([known, unknown('c')]);
    expect(
      look((journal, { id }, ids) => journal.unknown(id, partly({}, {}), 'job-1', ids)),
    ).toEqual([known, unknown('c')]);
    expect(look((journal, batch, ids) => journal.settle(batch, partly({}, {}), ids))).toEqual([
      known,
      unknown('c', 'the job takes too long'),
    ]);
  });

  test('stay known when the others are sent again', () => {
    inJob(['a', 'b'], {}, created('x'));
    expect(look((journal, batch) => journal.release(batch))).toEqual([
      { pair: 'b', ...created('x'), error: null },
    ]);
    expect(inRun((journal) => journal.openBatches())).toEqual([]);
  });

  test('are those that the end of the job names', () => {
    inJob(['a', 'a'], created('x'), {});
    const ended = packResults([{ error: 'refused' }, created('x')]);
    expect(look((journal, batch, ids) => journal.settle(batch, ended, ids))).toEqual([
      { pair: 'a', ...created('x'), error: null },
    ]);
  });
});

describe('results', () => {
  const results = packResults([created('x'), { error: 'refused' }, {}]);

  test('of a batch that needs no request are recorded with it, and leave no open one', () => {
    const batch = {
      links: JSON.stringify(['a', 'b', 'c'].map((pair) => linkText({ content: '0000000', pair }))),
      size: 3,
      sentAt: SENT_AT,
      idempotencyKey: undefined,
      domain: undefined,
      body: undefined,
      results,
    };
    inRun((journal) => expect(journal.results(journal.begin(batch))).toEqual(results));
    inRun((journal) => {
      expect(journal.openBatches()).toEqual([]);
      expect(links(journal)).toMatchObject([
        { pair: 'a', code: 'x' },
        { pair: 'c', code: null },
      ]);
    });
  });

  test('are what was recorded', () => {
    inRun((journal) => {
      const id = begin(journal, ['a', 'b', 'c']);
      journal.completed(id, results);
      expect(journal.results(id)).toEqual(results);
    });
  });

  test('make links of the next run, of which a failed one is none', () => {
    inRun((journal) => journal.completed(begin(journal, ['a', 'b', 'c']), results));
    inRun((journal) => {
      expect(journal.openBatches()).toEqual([]);
      expect(links(journal)).toEqual([
        { pair: 'a', ...created('x'), error: null },
        { pair: 'c', code: null, short_url: null, error: expect.stringContaining('not hold') },
      ]);
    });
  });

  test('of an open batch settle its links, and those of no other one', () => {
    inRun((journal) => {
      begin(journal, ['first']);
      begin(journal, ['a', 'b', 'c']);
      begin(journal, ['last']);
    });
    inRun((journal) => {
      const batch = journal.openBatches()[1];
      const ids = batch === undefined ? [] : journal.linksOf(batch).map(({ id }) => id);
      const ended = { ...results, missing: 'the job has failed' };
      if (batch !== undefined) journal.settle(batch, ended, ids);
      expect(links(journal)).toEqual([
        { pair: 'first', code: null, short_url: null, error: null },
        { pair: 'a', ...created('x'), error: null },
        { pair: 'c', code: null, short_url: null, error: 'the job has failed' },
        { pair: 'last', code: null, short_url: null, error: null },
      ]);
      expect(journal.openBatches()).toHaveLength(2);
    });
  });

  test('that a response left out are forgotten on request, and said so', () => {
    inRun((journal) => journal.completed(begin(journal, ['a', 'b', 'c']), results));
    inRun((journal) => {
      begin(journal, ['open']);
      journal.unpackBatches();
      expect(journal.releaseUnanswered()).toBe(true);
      expect(links(journal)).toMatchObject([{ pair: 'a' }, { pair: 'open' }]);
      expect(journal.releaseUnanswered()).toBe(false);
    });
  });
});

test('the links of open batches are told apart, also where a batch was refused in part', () => {
  const targetsOf = (journal: Journal) =>
    journal
      .openBatches()
      .map((batch) => journal.linksOf(batch).map(({ target_url }) => target_url));
  const partly = packResults([{}, { error: 'refused' }], 'lost');
  inRun((journal) => {
    journal.unknown(begin(journal, ['a', 'b']), partly);
    begin(journal, ['c', 'd']);
  });
  inRun((journal) => {
    expect(targetsOf(journal)).toEqual([['a'], ['c', 'd']]);
    const [, batch] = journal.openBatches();
    const ids = batch === undefined ? [] : journal.linksOf(batch).map(({ id }) => id);
    journal.unknown(batch?.id ?? 0, partly, undefined, ids);
    begin(journal, ['e']);
  });
  expect(inRun(targetsOf)).toEqual([['a'], ['c'], ['e']]);
});

describe('another service', () => {
  const OTHER = 'https://other.example/base';

  test('has links of its own, which are kept', () => {
    inRun((journal) => journal.completed(begin(journal, ['a']), packResults([created('x')])));
    inRun((journal) => {
      expect(journal.hasLinks()).toBe(false);
      expect(journal.otherServices()).toEqual([URL]);
      begin(journal, ['b']);
    }, OTHER);
    inRun((journal) => {
      expect(journal.hasLinks()).toBe(true);
      expect(journal.openBatches()).toEqual([]);
      expect(journal.otherServices()).toEqual([OTHER]);
      expect(journal.isEmpty).toBe(false);
    });
    expect(inRun((journal) => journal.openBatches(), OTHER)).toHaveLength(1);
  });

  test('is the same one with a slash at its end', () => {
    inRun((journal) => begin(journal, ['a']), `${OTHER}//`);
    expect(inRun((journal) => journal.openBatches(), OTHER)).toHaveLength(1);
    expect(inRun((journal) => journal.otherServices(), `${OTHER}/`)).toEqual([]);
  });
});

test('a step that fails leaves nothing of itself', () => {
  inRun((journal) => {
    begin(journal, ['a']);
    const failing = () =>
      journal.write(() => {
        journal.db.exec('DELETE FROM request');
        throw new Error('the second half failed');
      });
    expect(failing).toThrow('the second half failed');
    expect(journal.db.prepare('SELECT batch FROM request').all()).toHaveLength(1);
  });
});

test('a journal with nothing to remember can be removed while it is open', () => {
  inRun((journal) => {
    begin(journal, ['a']);
    journal.forget();
    expect(existsSync(path)).toBe(false);
  });
  expect(inRun((journal) => journal.openBatches())).toEqual([]);
});
