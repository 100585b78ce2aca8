import { version } from '../package.json';

/** Version of this package, as in its package.json. */
export const VERSION: string = version;
