import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import ky from 'ky';
import { describe, expect, it } from 'vitest';
import { emptied, KNOWN_RESULTS, NEVER_RUN } from '../ky-parts.config.ts';

const ROOT = new URL('.', import.meta.resolve('ky'));
const sourceOf = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');

/** Loads a module as the build has it: its address ends in `?built`, and so do those of what it imports. */
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const isBuilt = context.parentURL?.endsWith('?built') === true;
    return isBuilt ? { ...resolved, url: `${resolved.url}?built` } : resolved;
  },
  load(url, context, next) {
    if (!url.endsWith('?built')) return next(url, context);
    const name = url.slice(ROOT.href.length).replace('?built', '');
    const own = sourceOf(name);
    const source = KNOWN_RESULTS[name] ?? (NEVER_RUN.includes(name) ? emptied(own) : own);
    return { format: 'module', source, shortCircuit: true };
  },
});
const load = (name: string) => import(/* @vite-ignore */ new URL(name, ROOT).href);

/** The options that `http/send.ts` gives to ky, and those that ky adds to them. */
const OPTIONS = { retry: 0, timeout: false, throwHttpErrors: false } as const;
const ADDED = { headers: new Headers(), hooks: {}, prefix: '', totalTimeout: false, context: {} };

/** Of all modules of the ky in which it was read what an attempt runs, and that it runs nothing of NEVER_RUN. */
const READ_SOURCES = '567b84d7b77eeaea7aadbf596c5caf4efb2241c15d0b8dd0cc8cab4701b5ed19';

it('ky is the one whose attempts were read', async () => {
  const files = await readdir(fileURLToPath(ROOT), { recursive: true });
  const hash = createHash('sha256');
  for (const name of files.filter((name) => name.endsWith('.js')).toSorted()) {
    hash.update(name).update(sourceOf(name));
  }
  const advice = 'Read anew what an attempt with these options runs (core/Ky.js), then record this';
  expect(hash.digest('hex'), advice).toBe(READ_SOURCES);
});

const ENDS: [string, () => unknown][] = [
  ['a response', () => new Response('x', { status: 201, headers: { a: 'b' } })],
  ['an error status', () => new Response('busy', { status: 503, headers: { 'retry-after': '1' } })],
  ['a response of another fetch', () => ({ status: 200, headers: new Map(), text: () => 'x' })],
  ['nothing', () => undefined],
  ['a lost connection', () => Promise.reject(new TypeError('fetch failed'))],
  ['a string that is thrown', () => Promise.reject('gone')],
  ['an error that is thrown at once', throwAtOnce],
];

function throwAtOnce(): never {
  throw new RangeError('at once');
}

describe.each(['GET', 'POST'])('an attempt of %s', (method) => {
  it.each(ENDS)('ends as with the whole ky: %s', async (_, end) => {
    const { default: built } = await load('index.js?built');
    const endOf = async (client: typeof ky) => {
      let calls = 0;
      const fetch = async () => {
        calls += 1;
        return end() as Response;
      };
      const request = client('https://go.example.com/x', { ...OPTIONS, method, fetch });
      const ended: unknown = await request.then(
        async (response) => [response?.status, await response?.text()],
        (error) => [String(error), String(error?.cause)],
      );
      return { calls, ended };
    };
    const whole = await endOf(ky);
    expect(await endOf(built)).toEqual(whole);
    expect(whole.calls).toBe(1);
  });
});

describe('what stands in for a module of ky', () => {
  it.each(NEVER_RUN)('has the exports of %s, and none that could be called', async (name) => {
    const built = await load(`${name}?built`);
    expect(Object.keys(built)).toEqual(Object.keys(await load(name)));
    for (const each of Object.values<never>(built)) {
      expect(() => Reflect.apply(each, undefined, [])).toThrow(TypeError);
    }
  });

  it('returns what ky returns for these options', async () => {
    for (const query of ['', '?built']) {
      const merge = await load(`utils/merge.js${query}`);
      const normalize = await load(`utils/normalize.js${query}`);
      const options = await load(`utils/options.js${query}`);
      expect(merge.validateAndMerge(undefined, OPTIONS)).toEqual(OPTIONS);
      expect([...merge.mergeHeaders(undefined, undefined)]).toEqual([]);
      const hooks = { beforeRequest: [], beforeRetry: [], beforeError: [], afterResponse: [] };
      expect(merge.mergeHooks({}, undefined)).toMatchObject(hooks);
      expect(normalize.normalizeRetryOptions(0)).toMatchObject({ limit: 0 });
      expect(normalize.normalizeRetryOptions({ limit: 0 })).toMatchObject({ limit: 0 });
      expect(['GET', 'POST'].map(normalize.normalizeRequestMethod)).toEqual(['GET', 'POST']);
      expect(options.findUnknownOptions({ ...OPTIONS, ...ADDED, method: 'GET' })).toEqual({});
      expect(options.hasSearchParameters(undefined)).toBe(false);
    }
  });
});
