import { bundleEntry } from './bundle-entry.ts';
import type { Runtime } from './runtime.ts';
import { startWorkerd } from './start-workerd.ts';

export const workerd: Runtime = {
  name: 'workerd',
  packageName: 'workerd',
  tellsNotSent: false,
  repeatsLostPosts: false,
  async run(stageUrl, signal) {
    const script = await bundleEntry('worker', ['workerd', 'worker', 'browser']);
    await using worker = await startWorkerd(script);
    const url = new URL(worker.url);
    url.searchParams.set('stage', stageUrl);
    try {
      const answer = await fetch(url, { signal });
      if (!answer.ok) throw new Error(`the worker answered ${answer.status}`);
    } catch (error) {
      throw new Error(`${error}:\n${worker.output()}`, { cause: error });
    }
    return { version: await version(), output: worker.output() };
  },
};

/** The package's version: the program itself prints a date only. */
async function version(): Promise<string> {
  const { default: manifest } = await import('workerd/package.json', { with: { type: 'json' } });
  return manifest.version;
}
