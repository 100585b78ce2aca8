import { bun } from './bun.ts';
import { chromium, chromiumPage } from './chromium.ts';
import { deno } from './deno.ts';
import { node } from './node.ts';
import type { Runtime } from './runtime.ts';
import { workerd } from './workerd.ts';

/** Every runtime that the SDK promises to work in, in the order of the documentation's table. */
export const RUNTIMES: readonly Runtime[] = [
  node({ major: 22, packageName: 'node22' }),
  node({ major: 24, packageName: 'node' }),
  node({ major: 26, packageName: 'node26' }),
  bun,
  deno,
  workerd,
  chromium,
  chromiumPage,
];
