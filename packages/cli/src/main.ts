#!/usr/bin/env node
import { processIo } from './io.ts';
import { run } from './run.ts';

// `exitCode`, not `exit()`: what was written to a pipe must drain before the process ends.
process.exitCode = await run(process.argv.slice(2), processIo());
