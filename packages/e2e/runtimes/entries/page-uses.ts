/** What the test of the page service asks a page to do. */
import { Shortlink } from '@shortlink/sdk';
import { type PageService, startPageService } from '@shortlink/server/browser';

const clientOf = ({ apiKey, url: baseUrl, fetch }: PageService) =>
  new Shortlink({ apiKey, baseUrl, fetch });

const uses = {
  /** Resolves to how long the first link took from the page's beginning, in milliseconds. */
  async firstLink() {
    const service = await startPageService();
    await clientOf(service).links.create({ target_url: 'https://example.com/' });
    return performance.now();
  },
  /** Creates a link in a database that is kept, and does not close it. */
  async keep() {
    const service = await startPageService({ database: 'kept' });
    const links = Array.from({ length: 200 }, (_, n) => ({
      target_url: `https://example.com/${n}`,
    }));
    await clientOf(service).links.createBatchAndWait({ links });
    const second = startPageService({ database: 'kept' });
    return second.then(() => 'was opened twice', String);
  },
  /** What the next page finds there. */
  async find() {
    const service = await startPageService({ database: 'kept' });
    const shortlink = clientOf(service);
    const [found] = await shortlink.links.lookup(['https://example.com/199']);
    const { links } = await shortlink.usage.retrieve();
    await service.close();
    // It can be opened again at once.
    await (await startPageService({ database: 'kept' })).close();
    return [found?.links.length, links.used];
  },
  /** The same fault, a 429 and a lost response as from a server. */
  async faults() {
    const service = await startPageService({
      faults: [
        { fault: { kind: 'answer', status: 429, retryAfterSeconds: 1 } },
        { method: 'POST', skip: 1, fault: { kind: 'drop', when: 'after' } },
      ],
    });
    const shortlink = clientOf(service);
    await shortlink.links.create({ target_url: 'https://example.com/1' });
    const lost = await shortlink.links
      .create({ target_url: 'https://example.com/2' })
      .catch(String);
    return [lost, (await shortlink.usage.retrieve()).links.used];
  },
};
Object.assign(globalThis, { uses });
