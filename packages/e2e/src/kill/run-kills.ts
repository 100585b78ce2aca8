import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { World } from '../world.ts';
import { ChangingFile } from './changing-file.ts';
import { checkImport } from './check-import.ts';
import { importUntilDone } from './import-until-done.ts';
import { PowerCut } from './power-cut.ts';

export interface KillOptions {
  kills: number;
  /** Whether requests carry an idempotency key, so that each row must be created exactly once. */
  idempotency: boolean;
  /** @default 30_000 */
  rows?: number | undefined;
  /** Each kill also drops everything that was not synced to the disk. Needs Linux and a C compiler. @default false */
  powerCuts?: boolean | undefined;
  /** Called after each file. */
  onFile?: ((report: KillReport) => void) | undefined;
}

/** Sums over the files that were imported. */
export interface KillReport {
  kills: number;
  files: number;
  rows: number;
  created: number;
  unknown: number;
  unknownButCreated: number;
}

/**
 * Small enough for dozens of batches between two kills. Batches of every other file become jobs; the others are completed in the
 * response, so that most kills happen while a request is in flight. The first file is of the one kind with idempotency, and of the other
 * without it, so that few kills meet both.
 */
const BATCH_SIZES = ['500', '100'] as const;

/**
 * Kills fall between the start and this; a run that is not killed takes about three times as long. In milliseconds for each row, and for the start
 * of the program, which takes the same time for any file.
 */
const LATEST_KILL_MS = 0.05;
const START_MS = 100;

/**
 * Imports files into a real server, and kills the import at random moments so many times in all; between two runs the file grows, is
 * edited, or is sorted. No row may be created twice, and each outcome in the results must be true.
 */
export async function runKills(options: KillOptions): Promise<KillReport> {
  const { kills, idempotency, rows = 30_000, powerCuts = false, onFile } = options;
  const policy = idempotency ? ['--idempotency'] : ['--on-unknown', 'skip'];
  await using world = await World.create();
  const { key } = await world.caller('custom');
  const report: KillReport = {
    kills: 0,
    files: 0,
    rows: 0,
    created: 0,
    unknown: 0,
    unknownButCreated: 0,
  };
  const disk = powerCuts ? await PowerCut.create(world.folder) : undefined;
  const path = disk === undefined ? world.path('links.csv') : join(disk.folder, 'links.csv');
  // The input file was written and synced long before.
  const safe = ['links.csv'];
  while (report.kills < kills) {
    const file = new ChangingFile(path, { name: String(report.files), rows, random: Math.random });
    await file.write();
    const batchSize = BATCH_SIZES[(report.files + Number(idempotency)) % 2] ?? '';
    await disk?.forget(safe);
    report.kills += await importUntilDone({
      world,
      key,
      args: ['import', path, '--batch-size', batchSize, ...policy],
      kills: kills - report.kills,
      latestMs: START_MS + LATEST_KILL_MS * rows,
      random: Math.random,
      env: disk?.environment,
      afterKill: async () => {
        await disk?.cut(safe);
        await file.change();
      },
    });
    const outcomes = await checkImport(world.database, `${path}.results.csv`, file.targets);
    await rm(`${path}.shortlink-journal`);
    report.files += 1;
    report.rows += file.targets.length;
    report.created += outcomes.created;
    report.unknown += outcomes.unknown;
    report.unknownButCreated += outcomes.unknownButCreated;
    onFile?.({ ...report });
  }
  return report;
}
