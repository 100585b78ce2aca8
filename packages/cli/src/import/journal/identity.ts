import { inputError } from '../errors.ts';
import type { JournalIdentity } from './records.ts';

const RESTART =
  '--restart sets the journal aside and sends every row, also those that were created already.';

/**
 * Refuses a journal of something else.
 *
 * @throws CliError (exit code 2) that says what changed and what to do
 */
export function checkIdentity(
  recorded: JournalIdentity,
  current: JournalIdentity,
  path: string,
  inputName: string,
): void {
  const { input, target } = current;
  if (recorded.input.size !== input.size || recorded.input.sha256 !== input.sha256) {
    throw inputError(
      `${inputName} has changed since its import was begun (${path})`,
      `Put the old content back to go on, or give the new file another name. ${RESTART}`,
    );
  }
  if (recorded.target.baseUrl !== target.baseUrl) {
    throw inputError(
      `this import was begun at ${recorded.target.baseUrl}, not at ${target.baseUrl} (${path})`,
      `Use the same --base-url to go on, or another --journal for the other service. ${RESTART}`,
    );
  }
  if (recorded.target.keyFingerprint !== target.keyFingerprint) {
    throw inputError(
      `this import was begun with another API key (${path})`,
      `Use the same key to go on, or another --journal for the other account. ${RESTART}`,
    );
  }
  const changed = Object.keys({ ...recorded.settings, ...current.settings }).filter(
    (key) => JSON.stringify(recorded.settings[key]) !== JSON.stringify(current.settings[key]),
  );
  if (changed.length > 0) {
    throw inputError(
      `this import was begun with other settings: ${changed.join(', ')} (${path})`,
      `Use the same options as then to go on. ${RESTART}`,
    );
  }
}
