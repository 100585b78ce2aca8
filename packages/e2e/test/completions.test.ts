import { expect, test } from 'vitest';
import { openInEditor } from '../src/completions.ts';

const SETUP = "import { Shortlink } from '@shortlink/sdk';\nconst { links } = new Shortlink();\n";
const SENT = ['domain_id', 'redirect_type', 'tags', 'target_url', 'title'];

test.each([
  ['create', 'links.create({ | });'],
  ['createBatch', 'links.createBatch({ links: [{ | }] });'],
  ['createBatchAndWait', 'links.createBatchAndWait({ links: [{ | }] });'],
  ['createMany', 'links.createMany([{ | }]);'],
])('links.%s offers what can be sent of a link, and nothing else', (_, call) => {
  expect(openInEditor(SETUP + call).completions).toEqual(SENT);
});

test('links.lookup offers what can be asked, beside the members of a URL, which is a target too', () => {
  const { completions } = openInEditor(`${SETUP}links.lookup([{ | }]);`);
  expect(completions.filter((name) => !(name in URL.prototype))).toEqual([
    'after',
    'domain_id',
    'target_url',
  ]);
});

test('the methods of links are the documented ones', () => {
  const { completions } = openInEditor(`${SETUP}links.|`);
  expect(completions).toEqual([
    'create',
    'createBatch',
    'createBatchAndWait',
    'createMany',
    'lookup',
  ]);
});

test.each([
  ['create', "links.create({ target_url: 'x', redirect_type: 303 });"],
  ['createBatch', "links.createBatch({ links: [{ target_url: 'x', redirect_type: 303 }] });"],
])('a redirect type that the service has not is reported as that: %s', (_, call) => {
  const { mistakes } = openInEditor(SETUP + call);
  expect(mistakes).toHaveLength(1);
  expect(mistakes[0]).toMatch(/^Type '303' is not assignable to type '.*301 \| 302 \| 307/);
});
