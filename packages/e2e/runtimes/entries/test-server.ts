// A test of a user's own, in the runtime: it has to end by itself, so the server must leave nothing open.
import { RateLimitError, Shortlink } from '@shortlink/sdk';
import { startTestServer } from '@shortlink/server/testing';

const server = await startTestServer({
  faults: [{ skip: 2, fault: { kind: 'answer', status: 429, retryAfterSeconds: 60 } }],
});
const shortlink = new Shortlink({ apiKey: server.apiKey, baseUrl: server.url, maxRetries: 0 });
const target_url = 'https://example.com/';
const { short_url } = await shortlink.links.create({ target_url });
// Large enough to be checked on a thread.
const links = Array.from({ length: 2_000 }, (_, n) => ({ target_url: `https://example.com/${n}` }));
const job = await shortlink.links.createBatch({ links });
if (job.status !== 'processing') throw new Error('It is no job.');
const refusal = await shortlink.links.create({ target_url }).catch((error: unknown) => error);
if (!RateLimitError.isInstance(refusal)) throw new Error('The fault did not happen.');
const response = await fetch(short_url, { redirect: 'manual' });
await response.body?.cancel();
if (response.headers.get('location') !== target_url) throw new Error('It does not redirect.');
await server.close();
await server.close();
const isClosed = await fetch(server.url).then(
  () => false,
  () => true,
);
if (!isClosed) throw new Error('It still responds.');
