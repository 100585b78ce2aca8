import { fileURLToPath } from 'node:url';

/** The built programs, exactly as they are packed. */
const bin = (name: string) =>
  fileURLToPath(import.meta.resolve(`${name}/package.json`)).replace(
    /package\.json$/,
    'dist/main.js',
  );

export const CONFORMANCE_PROGRAM = bin('@shortlink/conformance');
export const SERVER_PROGRAM = bin('@shortlink/server');
/** SHORTLINK_E2E_BINARY is the path of a single-file `shortlink` that takes the place of the package in all tests. */
export const CLI_PROGRAM = process.env['SHORTLINK_E2E_BINARY'] ?? bin('@shortlink/cli');

/** What tells `examples/ci/links.sh`, and so the action, to use that program in place of the released one. */
export const CLI_VARIABLES = {
  SHORTLINK_PROGRAM: CLI_PROGRAM,
  SHORTLINK_NODE: /\.js$/.test(CLI_PROGRAM) ? process.execPath : '',
};

/** The command line that starts a program: a script is run by this Node, a single-file binary runs by itself. */
export function commandOf(program: string): [string, ...string[]] {
  return /\.[cm]?[jt]s$/.test(program) ? [process.execPath, program] : [program];
}
