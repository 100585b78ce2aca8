/** Runs the suite in a worker: each request, whose `stage` parameter is the stage's address, runs it once. */
import { Shortlink } from '@shortlink/sdk';
import { runSuite } from '../suite/run-suite.ts';
import { Stage } from '../suite/stage.ts';

// workerd doesn't start a worker that asks for something random while its modules are loaded, so a client must not do that.
const early = new Shortlink({ apiKey: 'made-early', baseUrl: 'https://go.example.com' });

export default {
  async fetch(request: Request): Promise<Response> {
    const stageUrl = new URL(request.url).searchParams.get('stage');
    if (stageUrl === null)
      return new Response('the address of the stage is missing', { status: 400 });
    if (early.links === undefined) return new Response('no client', { status: 500 });
    await runSuite(new Stage(stageUrl));
    return new Response('done');
  },
};
