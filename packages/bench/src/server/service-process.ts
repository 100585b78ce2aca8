/**
 * The server's own service, with click counting on or off: `service-process.ts <database file> counting|not-counting`.
 * Both are put together here in the same way, so that counting is all that tells them apart. Started by `server/targets.ts`.
 */
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { createService, openSqliteStore } from '@shortlink/server';
import { answerParent } from '../frame/answer-parent.ts';
import { listenOnLoopback } from '../frame/listen-on-loopback.ts';

const [path = '', counting] = process.argv.slice(2);
const publicUrl = 'http://127.0.0.1';
const store = await openSqliteStore({ path, publicUrl });
// Clicks are then gathered, which costs a tenth of a microsecond, and thrown away.
if (counting === 'not-counting') store.addClicks = async () => undefined;
const service = createService({ store, publicUrl });
await service.start();
const url = await listenOnLoopback(
  createServer(getRequestListener((request) => service.fetch(request))),
);
process.once('SIGTERM', async () => {
  await service.stop();
  await store.close();
  process.exit();
});
answerParent(() => url);
