import { runEntry, runTestServer } from './run-entry.ts';
import type { Runtime } from './runtime.ts';

/** Deno may use only the network: the client must not need the environment or files. */
const ARGS = ['run', '--no-prompt', '--no-remote', '--allow-net=127.0.0.1'];

export const deno: Runtime = {
  name: 'Deno',
  packageName: 'deno',
  tellsNotSent: true,
  repeatsLostPosts: false,
  run: (stageUrl, signal) => runEntry({ program: 'deno/deno', args: ARGS }, stageUrl, signal),
  // A server reads files, and its libraries the environment.
  runTestServer: (signal) =>
    runTestServer(
      { program: 'deno/deno', args: ['run', '--no-prompt', '--no-remote', '--allow-all'] },
      signal,
    ),
};
