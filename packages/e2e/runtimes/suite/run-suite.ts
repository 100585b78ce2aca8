import type { CheckResult, Report } from './check.ts';
import { CHECKS } from './checks/index.ts';
import type { Stage } from './stage.ts';
import { UnhandledRejections } from './unhandled-rejections.ts';

/** Longest time of one check, in milliseconds. A check that hangs is reported as failed. */
const CHECK_TIMEOUT_MS = 100_000;

/** Runs every check, one after the other, and sends the report to the stage. */
export async function runSuite(stage: Stage): Promise<void> {
  const unhandled = new UnhandledRejections();
  const traits = await stage.traits();
  const report: Report = { results: [] };
  for (const check of CHECKS) {
    report.results.push(await outcomeOf(check.name, () => check.run(stage, traits)));
    await stage.clear();
  }
  const unhandledReasons = await unhandled.take();
  report.results.push(
    await outcomeOf('leaves no rejection unhandled', async () => {
      if (unhandledReasons.length > 0) throw new Error(unhandledReasons.map(describe).join('\n'));
      if (!(await unhandled.areSeen())) throw new Error('this runtime reports none at all');
    }),
  );
  await stage.deliver(report);
}

async function outcomeOf(name: string, run: () => Promise<void>): Promise<CheckResult> {
  const startedAt = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new Error(`not done after ${CHECK_TIMEOUT_MS} ms`));
    timer = setTimeout(giveUp, CHECK_TIMEOUT_MS);
  });
  const failure = await Promise.race([run(), timeout]).then(() => undefined, describe);
  clearTimeout(timer);
  return { name, failure, durationMs: Math.round(performance.now() - startedAt) };
}

/** The stack of an error and of its causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.stack?.includes(error.message) ? error.stack : `${error}\n${error.stack ?? ''}`;
  return error.cause === undefined ? own : `${own}\ncaused by ${describe(error.cause)}`;
}
