import type { ChildProcess } from 'node:child_process';
import type { World } from '../world.ts';

export interface KilledImport {
  world: World;
  key: string;
  args: readonly string[];
  /** Kills still wanted. */
  kills: number;
  /** The latest moment of a kill, in milliseconds after the start of the program. */
  latestMs: number;
  random: () => number;
}

/** Longest time of one run. */
const RUN_LIMIT_MS = 120_000;

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
      const kill = () => child.kill('SIGKILL');
      timer = setTimeout(kill, isLast ? RUN_LIMIT_MS : random() * latestMs);
    };
    const run = await world.cli(key, args, { onStart });
    clearTimeout(timer);
    if (run.signal === 'SIGKILL' && !isLast) {
      kills += 1;
      continue;
    }
    // 7: every row is decided, and some are unknown for good.
    if (run.exitCode !== 0 && run.exitCode !== 7) {
      throw new Error(`the import ended with ${run.exitCode ?? run.signal}: ${run.stderr}`);
    }
    return kills;
  }
}
