import { runEntry, runTestServer } from './run-entry.ts';
import type { Runtime } from './runtime.ts';

const COMMAND = { program: 'bun/bin/bun.exe', args: ['run'] };

export const bun: Runtime = {
  name: 'Bun',
  packageName: 'bun',
  tellsNotSent: true,
  repeatsLostPosts: false,
  run: (stageUrl, signal) => runEntry(COMMAND, stageUrl, signal),
  runTestServer: (signal) => runTestServer(COMMAND, signal),
};
