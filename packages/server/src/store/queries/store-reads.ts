import { checkImport } from '../imports.ts';
import type { ShortUrl } from '../links.ts';
import type { Store } from '../store.ts';
import * as accounts from './accounts.ts';
import * as aliases from './aliases.ts';
import * as jobs from './jobs.ts';
import * as links from './links.ts';
import type { Reading } from './reading.ts';

/**
 * The methods of a store that only read.
 *
 * @param read - Carries a reading out on the engine.
 */
export function storeReads(read: <T>(reading: Reading<T>) => Promise<T>, shortUrl: ShortUrl) {
  return {
    listAccounts: () => read(accounts.listAccounts()),
    findAccount: (id) => read(accounts.findAccount(id)),
    listKeys: (accountId) => read(accounts.listKeys(accountId)),
    findKeyByHash: (hash) => read(accounts.findKeyByHash(hash)),
    countLinks: (codes) => read(accounts.countLinks(codes)),
    listDomains: () => read(accounts.listDomains()),
    findCreated: (accountId, idempotency, now) =>
      read(links.findCreated(accountId, idempotency, now)),
    ownedDomains: (accountId, ids) => read(accounts.ownedDomains(accountId, ids)),
    pendingJobs: () => read(jobs.pendingJobs()),
    unfinishedJobs: (accountId) => read(jobs.unfinishedJobs(accountId)),
    findJob: (accountId, jobId) => read(jobs.findJob(accountId, jobId)),
    readJobResults: (jobId, chunk) => read(jobs.readJobResults(jobId, chunk)),
    findRedirect: (address) => read(aliases.findRedirect(address)),
    linkChanges: (since) => read(links.linkChanges(since)),
    findLink: (code) => read(links.findLink(shortUrl, code)),
    checkImport: (input) => read(checkImport(input)),
    linkHistory: (code) => read(aliases.linkHistory(shortUrl, code)),
    listLinks: (search) => read(links.listLinks(shortUrl, search)),
  } satisfies Partial<Store>;
}
