import { runEntry } from './run-entry.ts';
import type { Runtime } from './runtime.ts';

export const bun: Runtime = {
  name: 'Bun',
  packageName: 'bun',
  tellsNotSent: true,
  repeatsLostPosts: false,
  run: (stageUrl, signal) =>
    runEntry({ program: 'bun/bin/bun.exe', args: ['run'] }, stageUrl, signal),
};
