/** Runs the suite in a page that is its own service. Only what stalls or refuses connections is on the stage. */
import { Shortlink } from '@shortlink/sdk';
import { startPageService } from '@shortlink/server/browser';
import { runSuite } from '../suite/run-suite.ts';
import {
  type SeenRequest,
  Stage,
  type StagedServer,
  type StagedServerOptions,
} from '../suite/stage.ts';

class PageStage extends Stage {
  #running: (() => Promise<void>)[] = [];
  readonly apiKeys: string[] = [];

  override async startServer({
    nowMs,
    ...options
  }: StagedServerOptions = {}): Promise<StagedServer> {
    const now = nowMs === undefined ? Date.now : () => nowMs;
    const { url: baseUrl, apiKey, fetch, close } = await startPageService({ ...options, now });
    const seen: SeenRequest[] = [];
    this.#running.push(close);
    this.apiKeys.push(apiKey);
    const recording: typeof fetch = (input, init) => {
      const { method, url } = new Request(input, init);
      seen.push({ method, path: new URL(url).pathname });
      return fetch(input, init);
    };
    return {
      baseUrl,
      apiKey,
      requests: async () => seen,
      received: async (count) => {
        while (seen.length < count) await new Promise((resolve) => setTimeout(resolve, 20));
      },
      client: (options) => new Shortlink({ apiKey, baseUrl, fetch: recording, ...options }),
    };
  }

  override async clear(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((close) => close()));
    await super.clear();
  }
}

const stageUrl = new URL(location.href).searchParams.get('stage');
if (stageUrl === null) throw new Error('the address of the stage is missing');
const stage = new PageStage(stageUrl);
// Where the browser's driver looks for it.
Object.assign(globalThis, { suite: runSuite(stage).then(() => stage.apiKeys) });
