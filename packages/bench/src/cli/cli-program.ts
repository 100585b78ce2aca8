import { fileURLToPath } from 'node:url';

/** The built command. */
export const CLI_PROGRAM = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));
