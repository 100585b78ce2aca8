import type { ChildProcess } from 'node:child_process';
import type { World } from '../world.ts';

export interface KilledImport {
  world: World;
  key: string;
  args: readonly string[];
  /** The number of kills to make. */
  kills: number;
  /** The latest moment of a kill, in milliseconds after the start of the program or of the sending. */
  latestMs: number;
  random: () => number;
  /** More of the program's environment. */
  env?: Record<string, string> | undefined;
  /** Called between two runs. */
  afterKill: () => Promise<void>;
}

/** Longest time of one run, which only ends what hangs: a busy machine may need minutes. */
const RUN_LIMIT_MS = 900_000;

/**
 * Runs the same import again and again, each time killed with SIGKILL at a random moment, until it has ended by itself; resolves to
 * the number of kills. Once there were enough it is let run to its end.
 *
 * @throws Error when a run ends by itself in any other way than having nothing left to do
 */
export async function importUntilDone(input: KilledImport): Promise<number> {
  const { world, key, args, latestMs, random } = input;
  for (let kills = 0; ; ) {
    const isLast = kills >= input.kills;
    let timer: NodeJS.Timeout | undefined;
    const onStart = (child: ChildProcess) => {
      const killAfter = (ms: number) => {
        clearTimeout(timer);
        timer = setTimeout(() => child.kill('SIGKILL'), ms);
      };
      killAfter(isLast ? RUN_LIMIT_MS : random() * latestMs);
      // On a busy machine most kills would happen before the first request, so half of them are timed from that request.
      if (isLast || random() < 0.5) return;
      killAfter(RUN_LIMIT_MS);
      child.stderr?.on('data', (text) => {
        if (String(text).includes('to create')) killAfter(random() * latestMs);
      });
    };
    const run = await world.cli(key, args, { onStart, env: input.env });
    clearTimeout(timer);
    if (run.signal === 'SIGKILL' && !isLast) {
      kills += 1;
      await input.afterKill();
      continue;
    }
    // 7: every row is decided, and some are unknown for good.
    if (run.exitCode !== 0 && run.exitCode !== 7) {
      throw new Error(`the import ended with ${run.exitCode ?? run.signal}: ${run.stderr}`);
    }
    return kills;
  }
}
