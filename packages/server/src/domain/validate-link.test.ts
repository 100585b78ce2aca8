import type { ErrorDetail } from '@shortlink/sdk/wire';
import { describe, expect, test } from 'vitest';
import { Problem } from './problem.ts';
import { namesDomain, validateBatch, validateLink } from './validate-link.ts';

const rules = {
  ownedDomains: new Set<string>(),
  isOwnHost: () => false,
  isAllowedHost: () => true,
};

const TARGET = 'https://example.com/';

/** What a check rejects; nothing where it doesn't. */
function rejectedBy(check: () => unknown): ErrorDetail[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.body.details ?? [];
  }
}

test('a hopeless batch is given up at the hundredth finding', () => {
  const links = Array.from({ length: 10_000 }, () => ({ target_url: 'x' }));
  expect(rejectedBy(() => validateBatch({ links }, rules))).toHaveLength(100);
});

test('of a batch, the hundredth finding may come with others of the same entry', () => {
  const links = Array.from({ length: 100 }, () => ({ target_url: 'x', domain_id: 'dom_other' }));
  let read = 0;
  const counted = Object.assign([...links], {
    *entries() {
      for (const entry of links.entries()) {
        read += 1;
        yield entry;
      }
    },
  });
  expect(rejectedBy(() => validateBatch({ links: counted }, rules))).toHaveLength(100);
  expect(read).toBe(50);
  const [three] = [{ target_url: 'x', title: 1, tags: 1 }];
  const many = Array(99).fill(three);
  expect(rejectedBy(() => validateBatch({ links: many }, rules))).toHaveLength(100);
});

/** The messages about a link, by field. */
function problemsOf(input: unknown, changes = {}): Record<string, string> {
  const details = rejectedBy(() => validateLink(input, { ...rules, ...changes }));
  return Object.fromEntries(details.map(({ field, message }) => [field, message]));
}

describe('a link', () => {
  test('gets every default', () => {
    const ownedDomains = new Set(['dom_a']);
    const input = { target_url: TARGET, unknown: 1 };
    expect(validateLink(input, { ...rules, ownedDomains }, 'dom_a')).toEqual({
      target_url: TARGET,
      title: '',
      redirect_type: 302,
      tags: [],
      domain_id: 'dom_a',
    });
  });

  test('keeps what it names', () => {
    const link = {
      target_url: TARGET,
      title: 'T',
      redirect_type: 301,
      tags: ['a'],
      domain_id: 'b',
    };
    const ownedDomains = new Set(['b']);
    expect(validateLink(link, { ...rules, ownedDomains })).toEqual(link);
  });

  test.each([null, [], 'https://example.com/', 7, undefined])('is an object, not %j', (input) => {
    expect(problemsOf(input)).toEqual({ '': 'must be a JSON object' });
  });

  test('needs a target URL, which the rules for targets allow', () => {
    expect(problemsOf({})).toEqual({ target_url: 'target_url is required' });
    expect(problemsOf({ target_url: 1 })).toEqual({ target_url: 'target_url must be a string' });
    expect(problemsOf({ target_url: TARGET }, { isOwnHost: () => true })['target_url']).toMatch(
      /own domains/,
    );
  });

  test('is told each bad field once', () => {
    const bad = {
      target_url: 'x\0\ud800',
      title: 't'.repeat(1_000),
      tags: ['ok', ''],
      redirect_type: 303,
    };
    expect(problemsOf(bad)).toEqual({
      target_url: 'target_url must be valid Unicode',
      title: expect.stringMatching(/^title must be at most \d+ characters$/),
      'tags[1]': 'tags[1] must not be empty',
      redirect_type: 'redirect_type must be 301, 302, 307',
    });
    const link = { target_url: 'x', domain_id: 'dom_other' };
    expect(problemsOf(link)).toEqual({
      target_url: expect.stringMatching(/absolute http or https URL/),
      domain_id: 'domain_id is not a domain of this account',
    });
  });
});

describe('the outline of a batch', () => {
  const problem = (body: Record<string, unknown>) => {
    const owned = { ...rules, ownedDomains: new Set(['dom_a']) };
    return rejectedBy(() => validateBatch(body, owned)).map(({ message }) => message);
  };
  const links = (count: number) => Array.from({ length: count }, () => ({ target_url: TARGET }));

  test.each([
    [{}, 'links is required'],
    [{ links: {} }, 'links must be an array'],
    [{ links: [] }, 'links must not be empty'],
    [{ links: links(10_001) }, 'links must have at most 10000 entries, not 10001'],
    [{ links: links(1), domain_id: 1 }, 'domain_id must be a string'],
    [{ links: links(1), domain_id: null }, 'domain_id must be a string'],
    [{ links: links(1) }, undefined],
    [{ links: links(10_000), domain_id: 'dom_a' }, undefined],
  ])('%o: %s', (body, message) => {
    expect(problem(body)).toEqual(message === undefined ? [] : [message]);
  });
});

describe('the domains of a batch', () => {
  test('are those of the body and of its entries', () => {
    expect(namesDomain({ links: [7, null, 'dom_c', {}, { domain_id: 'dom_b' }] })).toBe(true);
    expect(namesDomain({ domain_id: 'dom_a', links: 'dom_a' })).toBe(true);
    expect(namesDomain({ target_url: TARGET, domain_id: 'dom_a' })).toBe(true);
    expect(namesDomain({ domain_id: undefined, links: [{ domain_id: 7 }, 'dom_c'] })).toBe(false);
  });

  test('hold for the entries that name none, if they are the account’s', () => {
    const owned = { ...rules, ownedDomains: new Set(['dom_a', 'dom_b']) };
    const links = [{ target_url: TARGET }, { target_url: TARGET, domain_id: 'dom_b' }];
    expect(validateBatch({ domain_id: 'dom_a', links }, owned)).toMatchObject([
      { domain_id: 'dom_a' },
      { domain_id: 'dom_b' },
    ]);
    expect(rejectedBy(() => validateBatch({ domain_id: 'dom_c', links }, owned))).toEqual([
      { field: 'domain_id', message: 'domain_id is not a domain of this account' },
    ]);
  });

  test('an entry with a bad one is named by its position', () => {
    const links = [{ target_url: TARGET }, { target_url: TARGET, domain_id: 'dom_c' }];
    expect(rejectedBy(() => validateBatch({ links }, rules))).toEqual([
      { index: 1, field: 'domain_id', message: 'domain_id is not a domain of this account' },
    ]);
  });
});
