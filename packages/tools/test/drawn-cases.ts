import { env } from 'node:process';
import fc from 'fast-check';

/**
 * Tests of random cases draw the same ones each time, so that a change is never refused for a case that it has nothing to do with. Each night
 * draws others.
 */
fc.configureGlobal({ seed: Number(env['SHORTLINK_TEST_SEED'] ?? 1) });
