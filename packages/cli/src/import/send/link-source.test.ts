import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Row } from '@shortlink/tables/basics';
import { expect, test } from 'vitest';
import { linkIdentity } from '../map/link-identity.ts';
import type { RowRules } from '../map/row-rules.ts';
import { LinkSource } from './link-source.ts';
import type { SendInput } from './send-rows.ts';

/** Rows whose cells are the target URL and the domain. */
const rowsOf = (...urls: string[]): Row[] =>
  urls.map((url, index) => ({ line: index + 1, cells: url.split(' ') }));

const rules: RowRules = {
  check: (row) => ({ link: rules.link(row), problem: undefined }),
  link: ({ cells: [target_url = '', domain_id] }) => ({
    target_url,
    ...(domain_id !== undefined && { domain_id }),
  }),
};

let ended = 0;
function sourceOf(
  batches: Row[][],
  options: Partial<Pick<SendInput, 'skips' | 'links'>> = {},
  by = rules,
): LinkSource {
  ended = 0;
  async function* read() {
    try {
      yield* batches;
    } finally {
      ended += 1;
    }
  }
  return new LinkSource(read(), by, { skips: () => false, links: 1_000_000, ...options });
}

async function targetsOf(source: LinkSource): Promise<string[]> {
  const targets: string[] = [];
  for (;;) {
    const step = await source.next();
    if (step.done) return targets;
    targets.push(step.value.toJSON().target_url);
  }
}

test('gives the rows of all pieces of the input in order, over pieces without any', async () => {
  const source = sourceOf([rowsOf('a', 'b'), [], rowsOf('c')]);
  expect(await targetsOf(source)).toEqual(['a', 'b', 'c']);
});

test('leaves out the rows to skip, which count all the same', async () => {
  const seen: string[] = [];
  const skips = (row: Row, number: number) => {
    seen.push(`${number}${row.cells[0]}`);
    return number !== 1 && number !== 4;
  };
  const source = sourceOf([rowsOf('a', 'b'), rowsOf('c'), rowsOf('d', 'e')], { skips });
  expect(await targetsOf(source)).toEqual(['b', 'e']);
  expect(seen).toEqual(['0a', '1b', '2c', '3d', '4e']);
});

test('keeps no piece of the input whose rows were left out, until there is one to give', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const pieces: WeakRef<Row[]>[] = [];
  async function* read() {
    for (let count = 0; count < 100; count += 1) {
      const rows = rowsOf('old');
      pieces.push(new WeakRef(rows));
      yield rows;
      await new Promise(setImmediate);
    }
    collect();
    const kept = pieces.filter((piece) => piece.deref() !== undefined);
    yield rowsOf(`new ${kept.length}`);
  }
  const skips = ({ cells }: Row) => cells[0] === 'old';
  const source = new LinkSource(read(), rules, { skips, links: 1_000 });
  const step = await source.next();
  expect(Number(step.value?.toJSON().domain_id)).toBeLessThan(10);
});

test('ends after so many links, also where earlier ones are forgotten', async () => {
  expect(await targetsOf(sourceOf([rowsOf('a', 'b', 'c')], { links: 2 }))).toEqual(['a', 'b']);
  // Else the input would stay open.
  expect(ended).toBe(1);
  const source = sourceOf([rowsOf('a', 'b', 'c')], { links: 2 });
  await source.next();
  source.forget(1);
  await source.next();
  source.forget(2);
  expect(await source.next()).toEqual({ done: true, value: undefined });
});

test('closes the input where it is left early', async () => {
  const source = sourceOf([rowsOf('a', 'b')]);
  await source.next();
  await source.return();
  expect(ended).toBe(1);
});

test('has the links of a batch in flight, wherever the first of them is', async () => {
  const source = sourceOf([rowsOf('a', 'b', 'c', 'd')]);
  for (let count = 0; count < 4; count += 1) await source.next();
  const targets = (first: number, count: number) =>
    source.linksOf({ first, count }).map((link) => link.toJSON().target_url);
  expect(targets(1, 2)).toEqual(['b', 'c']);
  source.forget(1);
  expect(targets(1, 2)).toEqual(['b', 'c']);
  source.forget(4);
  expect(targets(3, 1)).toEqual([]);
});

test('forgets in large steps, so that the links in flight are seldom copied', async () => {
  const urls = Array.from({ length: 5_000 }, (_, index) => `u${index}`);
  const source = sourceOf([rowsOf(...urls)]);
  for (let count = 0; count < 5_000; count += 1) await source.next();
  source.forget(4_095);
  expect(source.linksOf({ first: 0, count: 1 })).toHaveLength(1);
  source.forget(4_096);
  expect(source.linksOf({ first: 0, count: 1 })).toEqual([]);
  expect(source.linksOf({ first: 4_096, count: 904 })).toHaveLength(904);
  source.forget(4_097);
  const targets = source
    .linksOf({ first: 4_097, count: 2 })
    .map((link) => link.toJSON().target_url);
  expect(targets).toEqual(['u4097', 'u4098']);
});

test('the journal has the content, the target URL and the domain of a link', async () => {
  const source = sourceOf([rowsOf('https://a.example/', 'https://b.example/ dom_b')]);
  for (let count = 0; count < 2; count += 1) await source.next();
  const [a, b] = source.linksOf({ first: 0, count: 2 });
  JSON.stringify([a, b]);
  const { pair, content } = linkIdentity({ target_url: 'https://a.example/' }, undefined);
  expect(a?.stored(undefined)).toEqual([pair, content]);
  expect(a?.stored('dom_a')[0]).toBe('https://a.example/\ndom_a');
  expect(b?.stored('dom_a')[0]).toBe('https://b.example/\ndom_b');
  expect(JSON.stringify(b)).toBe('{"target_url":"https://b.example/","domain_id":"dom_b"}');
});

test('a row is read once for the request and the journal', async () => {
  let reads = 0;
  const link = (row: Row) => {
    reads += 1;
    return rules.link(row);
  };
  const counting = { ...rules, link };
  const source = sourceOf([rowsOf('https://a.example/')], {}, counting);
  await source.next();
  const [first] = source.linksOf({ first: 0, count: 1 });
  JSON.stringify(first);
  first?.stored(undefined);
  expect(reads).toBe(1);
});
