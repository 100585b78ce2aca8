export type { RequestOptions, ShortlinkOptions } from './options.ts';
