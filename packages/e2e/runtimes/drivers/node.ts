import { runEntry, runTestServer } from './run-entry.ts';
import type { Runtime } from './runtime.ts';

/** A release line of Node. From 22.18 on, Node runs the TypeScript of the suite without a flag. */
export function node({ major, packageName }: { major: number; packageName: string }): Runtime {
  const command = { program: `${packageName}/bin/node` };
  return {
    name: `Node.js ${major}`,
    packageName,
    tellsNotSent: true,
    repeatsLostPosts: false,
    run: (stageUrl, signal) => runEntry(command, stageUrl, signal),
    runTestServer: (signal) => runTestServer(command, signal),
  };
}
