import { expect, test } from 'vitest';
import { PACKAGES, type Patch, Patches } from '../simulator/kernel/patches.ts';
import { loadPrograms } from '../simulator/load-programs.ts';
import { MUTANTS } from '../simulator/mutants/mutants.ts';
import { loadServer } from '../simulator/server/load-server.ts';
import { mutants } from '../simulator/server/mutants.ts';
import { postgresMutants } from '../simulator/server/postgres-mutants.ts';

test('every planted bug fits the source', () => {
  const ofServer = Object.entries({ ...mutants, ...postgresMutants });
  const all = [...MUTANTS, ...ofServer.map(([name, { patches }]) => ({ name, patches }))];
  const misfits = all.flatMap(({ name, patches }) => {
    try {
      new Patches(patches);
      return [];
    } catch (error) {
      return [`${name}: ${error}`];
    }
  });
  expect(misfits).toEqual([]);
  expect(all.length).toBeGreaterThan(100);
});

const GONE: Patch = { file: 'server/src/moved-away.ts', find: 'a', replace: 'b' };
const CHANGED: Patch = { file: 'server/src/service.ts', find: 'never there', replace: '' };
const UNUSED: Patch = { file: 'server/src/main.ts', find: '#!/usr/bin/env node', replace: '' };

test.each([
  ['the server', async (patch: Patch) => void (await loadServer([patch]))],
  ['the import', async (patch: Patch) => void (await loadPrograms([patch]))],
])('%s is not simulated with a planted bug that no longer fits the source', async (_, load) => {
  await expect(load(GONE)).rejects.toThrow(
    'server/src/moved-away.ts is gone, and a patch replaces in it: a',
  );
  await expect(load(CHANGED)).rejects.toThrow(
    'not once in server/src/service.ts, but 0 times: never there',
  );
});

test('a planted bug in a file that the simulator never loads is noticed', () => {
  const patches = new Patches([UNUSED]);
  expect(() => patches.checkUsed()).toThrow(
    'server/src/main.ts is never loaded, and a patch changes it',
  );
  expect(patches.sourceOf(`${PACKAGES}server/src/main.ts`)).toMatch(/^\n\/\/ /);
  expect(() => patches.checkUsed()).not.toThrow();
});
