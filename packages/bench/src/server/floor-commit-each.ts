/** Creates on bare node:http, each with a commit of its own: `floor-commit-each.ts <new file>`. Started by `server/targets.ts`. */
import { createServer } from 'node:http';
import { answerParent, listenOnLoopback } from '../frame/processes.ts';
import { openBareTable } from './bare-table.ts';
import { FloorService } from './floor-service.ts';
import { answerJson, readBody } from './plain-http.ts';

const [path = ''] = process.argv.slice(2);
const { insert } = await openBareTable(path);
const service = new FloorService();

const server = createServer((request, response) => {
  readBody(request, (body) => {
    const link = service.createLink(body);
    // Outside a transaction, each statement is a transaction of its own and waits for the disk.
    insert(link.code, link.target_url);
    answerJson(response, 201, link);
  });
});

const url = await listenOnLoopback(server);
answerParent(() => url);
