import packageJson from '../package.json' with { type: 'json' };

/** Version of this package, as in its package.json. */
export const VERSION: string = packageJson.version;
