import process from 'node:process';
import { inputError } from '../errors.ts';

/**
 * Loads `node:sqlite` only when an import needs it. Node 22 and 24 print an ExperimentalWarning then, which does not concern the
 * user of a tool. Only this warning is suppressed.
 *
 * @throws CliError (exit code 2) in a version of Node without it
 */
export function loadSqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    const old: Partial<typeof process> = process;
    const found = old.getBuiltinModule?.('node:sqlite');
    if (found !== undefined) return found;
    throw inputError(`An import needs Node 22.13 or newer, and this is ${process.version}`);
  } finally {
    process.emitWarning = emitWarning;
  }
}
