import type { LinkImport, LinkSearch } from './operator-store.ts';
import * as accounts from './queries/accounts.ts';
import { findRedirect, linkHistory } from './queries/aliases.ts';
import * as jobs from './queries/jobs.ts';
import { findCreated, findLink, linkChanges, listLinks } from './queries/links.ts';
import { carryOut, type Reading } from './queries/reading.ts';
import type { Store } from './store.ts';
import { addClicks } from './writes/clicks.ts';
import { createBatch, createJob, createLink } from './writes/create.ts';
import type { Engine } from './writes/engine.ts';
import { checkImport, importLinks } from './writes/imports.ts';
import { runJobChunk } from './writes/jobs.ts';
import * as operators from './writes/operators.ts';
import { indexLinks } from './writes/targets.ts';

const alike = { ...accounts, ...jobs, findCreated, findRedirect, linkChanges };

/** The methods of a store that only read. */
export function storeReads(
  read: <T>(reading: Reading<T>) => Promise<T>,
  { shortUrl, table }: Pick<Engine, 'shortUrl' | 'table'>,
) {
  const readings = {
    ...alike,
    checkImport: (input: LinkImport) => checkImport({ table }, input),
    linkHistory: (code: string) => linkHistory(shortUrl, code),
    findLink: (code: string) => findLink(shortUrl, code),
    listLinks: (search: LinkSearch) => listLinks(shortUrl, search),
  };
  return carryOut<typeof readings>(readings, (name, args) => {
    const reading = readings[name] as (...args: unknown[]) => Reading<unknown>;
    return read(reading(...args));
  }) satisfies Partial<Store>;
}

/** The methods that write. Each runs in one transaction, and gets its engine first. */
export const storeWrites = {
  ...operators,
  ...{ addClicks, importLinks, indexLinks, createLink, createBatch, createJob, runJobChunk },
};
