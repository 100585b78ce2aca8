import { stat } from 'node:fs/promises';
import { inputError, systemReason } from '../errors.ts';
import type { Input } from '../read/open-input.ts';

/**
 * Finds out whether somebody writes to the input while it is being imported: its rows would no longer be those that were checked.
 *
 * @returns a function that throws when the file is no longer what it was
 */
export async function inputGuard(input: Input): Promise<() => Promise<void>> {
  const before = await stat(input.path);
  return async () => {
    const now = await stat(input.path).catch((cause: unknown) => {
      throw inputError(
        `${input.name} was taken away while it was being imported: ${systemReason(cause)}`,
        'Put it back and run the same command: it creates the links that are missing.',
      );
    });
    if (now.size !== before.size || now.mtimeMs !== before.mtimeMs || now.ino !== before.ino) {
      throw inputError(
        `${input.name} was changed while it was being imported`,
        'Run the same command again: it creates the links that are missing.',
      );
    }
  };
}
