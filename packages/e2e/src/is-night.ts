import { env } from 'node:process';

/** Whether a test proves at length what it else proves by a part: once a night there is time for it. */
export const isNight = env['SHORTLINK_TEST_NIGHT'] !== undefined;
