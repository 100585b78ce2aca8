import { env } from 'node:process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

/** Each run imports three times. */
const RUNS = env['SHORTLINK_TEST_NIGHT'] ? 200 : 12;

/** What stands beside the URL of a row: nothing, fields, what another service has written, or what an import has. */
const KINDS: Readonly<Record<string, (n: number) => Record<string, unknown>>> = {
  plain: () => ({}),
  titled: (n) => ({ title: `T${n}` }),
  tagged: () => ({ tags: ['a', 'b'] }),
  'of a domain': () => ({ domain_id: 'dom-1' }),
  'of another service': (n) => ({ code: `x${n}`, short_url: `https://bit.ly/x${n}` }),
  'with a status of its own': () => ({ status: 'active' }),
  'with an error of its own': () => ({ error: 'none yet' }),
  imported: (n) => ({
    code: `own${n}`,
    short_url: `https://s.example/own${n}`,
    status: 'created',
    error: null,
  }),
  'not imported yet': () => ({ code: null, short_url: null, status: 'unsent', error: 'later' }),
};

interface File {
  kinds: string[];
  /** The same rows in another order. */
  order: number[];
  /** Whether all of that comes after more rows than are looked at first. */
  isFar: boolean;
}

const file: fc.Arbitrary<File> = fc
  .array(fc.constantFrom(...Object.keys(KINDS)), { minLength: 1, maxLength: 8 })
  .chain((kinds) =>
    fc.record({
      kinds: fc.constant(kinds),
      order: fc.shuffledSubarray([...kinds.keys()], { minLength: kinds.length }),
      isFar: fc.boolean(),
    }),
  );

const FILLER = Array.from({ length: 300 }, (_, n) => ({
  url: `https://example.com/far/${n}`,
  far: 'x'.repeat(1000),
}));

/** JSON Lines: each row has the keys of its kind only. */
function write(world: ImportHarness, rows: readonly object[]): void {
  world.write('input.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

async function play({ kinds, order, isFar }: File, inPlace: boolean): Promise<void> {
  const world = new ImportHarness();
  try {
    const path = world.path('input.jsonl');
    const output = inPlace ? path : world.path('results.jsonl');
    const formats = { outputFormat: 'jsonl', maxRejects: 'all' } as const;
    const settings = { file: path, output, inPlace, ...formats };
    const rows = kinds.map((kind, n) => ({
      url: `https://example.com/${n}`,
      ...KINDS[kind]?.(n),
    }));
    const all = [...(isFar ? FILLER : []), ...rows];
    write(world, all);
    const own = kinds.filter((kind) => kind === 'imported').length;
    let rejected = 0;
    try {
      const summary = await world.import(settings);
      ({ rejected } = summary);
      const created = all.length - own - rejected;
      expect(summary).toMatchObject({ created, existing: own, unknown: 0, unsent: 0 });
      if (!inPlace) expect(rejected).toBe(0);
    } catch (error) {
      // In place, keys that have the names of results are refused before anything is sent.
      expect(inPlace).toBe(true);
      expect(error).toMatchObject({ name: 'InputError', code: 'input' });
      expect(world.service.requests).toBe(0);
      return;
    }
    checkResults(world, output, all);
    const links = world.created();
    // In place, what the import has written is what it reads.
    const now = inPlace ? lines(world, output) : all;
    const fillers = now.slice(0, now.length - rows.length);
    const [first, second] = [now.slice(-rows.length), order.map((at) => now.at(at - rows.length))];
    for (const mixed of [[...fillers, ...first], [...second, ...fillers] as object[]]) {
      write(world, mixed);
      expect(await world.import(settings)).toMatchObject({ created: 0, unknown: 0, rejected });
      checkResults(world, output, mixed);
    }
    expect(world.created()).toEqual(links);
    expect(links).toEqual({ links: all.length - own - rejected, duplicates: 0 });
  } finally {
    world.dispose();
  }
}

/** Each row is there, with what it has of its own; one that was created has the link to its own target. */
function checkResults(world: ImportHarness, output: string, rows: readonly object[]): void {
  const results = lines(world, output);
  expect(results.map(({ url }) => url)).toEqual(
    lines(world, world.path('input.jsonl')).map(({ url }) => url),
  );
  expect(results).toHaveLength(rows.length);
  const targets = world.service.targets();
  for (const { url, code, status } of results) {
    if (status !== 'created') continue;
    const target = targets.get(String(code));
    expect(target ?? `https://example.com/${String(code).replace('own', '')}`).toBe(url);
  }
}

function lines(world: ImportHarness, path: string): Array<Record<string, unknown>> {
  return world
    .read(path.slice(world.directory.length + 1))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test.each([false, true])(
  'whatever the rows of JSON Lines are, and in which order, each gets its own link once: in place %s',
  async (inPlace) => {
    await fc.assert(
      fc.asyncProperty(file, (mixed) => play(mixed, inPlace)),
      { numRuns: RUNS, endOnFailure: true },
    );
  },
  900_000,
);
