import { fileURLToPath } from 'node:url';

/** The built programs, exactly as they are packed. */
const bin = (name: string) =>
  fileURLToPath(import.meta.resolve(`${name}/package.json`)).replace(
    /package\.json$/,
    'dist/main.js',
  );

export const SERVER_PROGRAM = bin('@shortlink/server');
export const CLI_PROGRAM = bin('@shortlink/cli');
