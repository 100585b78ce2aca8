import type { Runtime } from './drivers/runtime.ts';
import { startStage } from './stage/stage-server.ts';
import type { CheckResult, RuntimeTraits } from './suite/check.ts';

/** Longest time of the whole suite in one runtime, its start included, in milliseconds. */
export const RUNTIME_TIMEOUT_MS = 250_000;

/** The outcome of the suite in one runtime. */
export interface RuntimeRun extends RuntimeTraits {
  version: string;
  runsTestServer: boolean;
  results: CheckResult[];
}

/**
 * Runs the suite in a runtime.
 *
 * @throws Error when the runtime doesn't start or the suite can't finish
 */
export async function runInRuntime(runtime: Runtime): Promise<RuntimeRun> {
  const { name, packageName, tellsNotSent, repeatsLostPosts } = runtime;
  const traits = { name, tellsNotSent, repeatsLostPosts };
  await using stage = await startStage(traits);
  try {
    const signal = AbortSignal.timeout(RUNTIME_TIMEOUT_MS);
    const { version, output, apiKeys = [] } = await runtime.run(stage.url, signal);
    const { results } = await stage.report;
    const { runTestServer } = runtime;
    const runsTestServer = runTestServer !== undefined;
    const checks = [...results, keysIn(output, [...stage.apiKeys, ...apiKeys])];
    if (runsTestServer) checks.push(await checkTestServer(runTestServer(signal)));
    return { ...traits, runsTestServer, version, results: checks };
  } catch (error) {
    const advice = `Is the npm package ${packageName} installed, and its install script allowed?`;
    throw new Error(`The suite did not run in ${name}. ${advice}\n${error}`, { cause: error });
  }
}

/** Checks the runtime's console: the suite prints clients and errors there, and no API key may appear. */
function keysIn(output: string, apiKeys: readonly string[]): CheckResult {
  const leaked = apiKeys.filter((key) => output.includes(key));
  let failure: string | undefined;
  if (leaked.length > 0) failure = `${leaked.length} API keys are in the output:\n${output}`;
  else if (!output.includes('Shortlink')) failure = `the client was not printed:\n${output}`;
  return { name: 'the console shows no API key', failure, durationMs: 0 };
}

async function checkTestServer(run: Promise<unknown>): Promise<CheckResult> {
  const failure = await run.then(() => undefined, String);
  return { name: 'startTestServer serves and closes', failure, durationMs: 0 };
}
