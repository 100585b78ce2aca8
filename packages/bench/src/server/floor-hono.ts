/** {@link FloorService} on a plain Hono app, served as ours is. Started by `server/targets.ts`. */
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { answerParent, listenOnLoopback } from '../frame/processes.ts';
import { FloorService } from './floor-service.ts';

const service = new FloorService();
const app = new Hono();
app.post('/api/v1/links', async (c) => c.json(service.createLink(await c.req.text()), 201));
app.post('/api/v1/links/batch', async (c) => c.json(service.createBatch(await c.req.text())));
app.get('/api/v1/jobs/:id', (c) => c.json(service.job(c.req.param('id'))));
app.get('/:code', (c) => {
  const target = service.target(c.req.param('code'));
  return target === undefined ? c.notFound() : c.redirect(target);
});

const url = await listenOnLoopback(createServer(getRequestListener(app.fetch)));
answerParent(() => url);
