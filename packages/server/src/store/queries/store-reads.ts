import type { LinkImport, LinkSearch } from '../operator-store.ts';
import type { Store } from '../store.ts';
import type { Engine } from '../writes/engine.ts';
import { checkImport } from '../writes/imports.ts';
import * as accounts from './accounts.ts';
import { findRedirect, linkHistory } from './aliases.ts';
import * as jobs from './jobs.ts';
import { findCreated, findLink, linkChanges, listLinks } from './links.ts';
import { carryOut, type Reading } from './reading.ts';

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
