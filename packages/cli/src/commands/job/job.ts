import type { Command } from 'commander';
import type { Perform } from '../perform.ts';
import { declareJobGet } from './get.ts';
import { declareJobWait } from './wait.ts';

export function declareJob(program: Command, perform: Perform): void {
  const job = program.command('job').description('Look at a batch job, or wait for it.');
  declareJobGet(job, perform);
  declareJobWait(job, perform);
}
