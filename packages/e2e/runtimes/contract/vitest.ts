/** In place of vitest, where its own runner can't run: collects the tests of a suite, and runs them one after the other. */
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';
import * as chai from 'chai';

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin);

export const expect = Object.assign((value: unknown) => chai.expect(value), chai.expect);

type Step = () => unknown;

interface Group {
  name: string;
  before: Step[];
  after: Step[];
}

interface Test {
  name: string;
  groups: readonly Group[];
  run: Step;
}

let groups: readonly Group[] = [];
const tests: Test[] = [];

export function describe(name: string, define: () => void): void {
  const outer = groups;
  groups = [...outer, { name, before: [], after: [] }];
  define();
  groups = outer;
}

export function test(name: string, ...args: [run: Step] | [options: object, run: Step]): void {
  const run = args.length === 1 ? args[0] : args[1];
  tests.push({ name: [...groups.map((group) => group.name), name].join(' > '), groups, run });
}

export const beforeEach = (step: Step) => groups.at(-1)?.before.push(step);
export const afterEach = (step: Step) => groups.at(-1)?.after.push(step);

/** Runs all tests that were collected. */
export async function runTests(): Promise<{ name: string; failure?: string }[]> {
  const results = [];
  for (const { name, groups, run } of tests) {
    try {
      for (const step of groups.flatMap((group) => group.before)) await step();
      try {
        await run();
      } finally {
        for (const step of groups.flatMap((group) => group.after)) await step();
      }
      results.push({ name });
    } catch (error) {
      results.push({ name, failure: error instanceof Error ? `${error.stack}` : String(error) });
    }
  }
  return results;
}
