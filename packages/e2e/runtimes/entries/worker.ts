/** Runs the suite in a worker: each request, whose `stage` parameter is the stage's address, runs it once. */
import { runSuite } from '../suite/run-suite.ts';
import { Stage } from '../suite/stage.ts';

export default {
  async fetch(request: Request): Promise<Response> {
    const stageUrl = new URL(request.url).searchParams.get('stage');
    if (stageUrl === null)
      return new Response('the address of the stage is missing', { status: 400 });
    await runSuite(new Stage(stageUrl));
    return new Response('done');
  },
};
